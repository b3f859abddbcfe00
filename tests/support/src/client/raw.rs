use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpStream;

use super::{Body, Chunk, ClientError, Ended, Head, Receiver, RequestBuilder, Sender};
use crate::http1::{Inbound, Outbound};

/// One HTTP/1.1 connection in the hands of a test.
#[derive(Debug)]
pub struct RawClient {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    peer: SocketAddr,
    local: SocketAddr,
}

impl RawClient {
    /// Connects.
    ///
    /// # Errors
    /// [`ClientError::Aborted`] when the peer refuses.
    pub async fn connect(peer: SocketAddr) -> Result<Self, ClientError> {
        let stream = TcpStream::connect(peer).await?;
        stream.set_nodelay(true)?;
        let local = stream.local_addr()?;
        let stream = Arc::new(stream);
        Ok(RawClient {
            sender: Sender::new(Outbound::new(stream.clone())),
            receiver: Receiver::new(Inbound::new(stream)),
            peer,
            local,
        })
    }

    /// Waits so long, instead of 30 s, whenever it waits for bytes.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.receiver.patience = patience;
        self
    }

    /// Whom it is connected to.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Its own end.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// A request of the usual kind.
    pub fn request(&mut self, method: &str, target: &str) -> RequestBuilder<'_> {
        RequestBuilder::new(self, method, target)
    }

    /// Both halves, to send and receive at the same time.
    pub fn halves(&mut self) -> (&mut Sender, &mut Receiver) {
        (&mut self.sender, &mut self.receiver)
    }

    /// Sends `bytes` as they are; see [`Sender::send_raw`]. What begins with
    /// `HEAD ` makes the next response one without a body.
    ///
    /// # Errors
    /// As [`Sender::send_raw`].
    pub async fn send_raw(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), ClientError> {
        self.receiver.head_only = bytes.as_ref().starts_with(b"HEAD ");
        self.sender.send_raw(bytes).await
    }

    /// See [`Receiver::read_head`].
    ///
    /// # Errors
    /// As there.
    pub async fn read_head(&mut self) -> Result<Head, ClientError> {
        self.receiver.read_head().await
    }

    /// See [`Receiver::read_chunk`].
    ///
    /// # Errors
    /// As there.
    pub async fn read_chunk(&mut self) -> Result<Option<Chunk>, ClientError> {
        self.receiver.read_chunk().await
    }

    /// See [`Receiver::read_body`].
    ///
    /// # Errors
    /// As there.
    pub async fn read_body(&mut self) -> Result<Body, ClientError> {
        self.receiver.read_body().await
    }

    /// See [`Receiver::read_to_end_raw`].
    ///
    /// # Errors
    /// As there.
    pub async fn read_to_end_raw(&mut self) -> Result<(Bytes, Ended), ClientError> {
        self.receiver.read_to_end_raw().await
    }
}
