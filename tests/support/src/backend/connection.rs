use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;

use super::line::Line;
use super::log::Connected;
use super::server::Shared;
use super::{Cut, exchange};
use crate::http1::{Inbound, Outbound, RequestHead};

/// What a connection does after an exchange.
#[derive(Debug, Clone, Copy)]
pub(super) enum Next {
    Request,
    Close,
    /// Close when the peer, who may still be sending, has closed.
    CloseWhenRead,
    CloseOnNextRequest,
}

/// One accepted connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) shared: Arc<Shared>,
    pub(super) inbound: Inbound,
    pub(super) outbound: Outbound,
    peer: SocketAddr,
    connected: Connected,
}

impl Connection {
    pub(super) fn new(
        shared: Arc<Shared>,
        stream: TcpStream,
        peer: SocketAddr,
    ) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let stream = Arc::new(stream);
        Ok(Connection {
            connected: shared.log.connect(Line(stream.clone())),
            shared,
            inbound: Inbound::new(stream.clone()),
            outbound: Outbound::new(stream),
            peer,
        })
    }

    /// One request after the other, until either side has had enough.
    pub(super) async fn serve(mut self) {
        while let Ok(Some(head)) = self.inbound.head(RequestHead::parse).await {
            // Read before anyone can know of the request and move the clock.
            let arrived = self.shared.clock.now();
            let visit = self.connected.request(self.peer, head);
            match exchange::run(&mut self, &visit, arrived).await {
                Next::Request => {}
                Next::Close => return,
                Next::CloseWhenRead => return self.close_when_read().await,
                Next::CloseOnNextRequest => return self.wait_for_a_byte().await,
            }
        }
    }

    /// Has the connection end in the way of `cut` when it is dropped.
    pub(super) fn prepare(&self, cut: Cut) {
        if cut == Cut::Reset {
            // Where it fails the peer sees a close, and the test says so.
            let _ = self.connected.line().reset_on_close();
        }
    }

    async fn wait_for_a_byte(&mut self) {
        if !self.inbound.has_unread() {
            let _ = self.inbound.fill().await;
        }
    }

    /// Closing with bytes unread would be a reset, and a reset may overtake
    /// the response.
    async fn close_when_read(&mut self) {
        if self.outbound.end().is_ok() {
            self.inbound.ended().await;
        }
    }
}
