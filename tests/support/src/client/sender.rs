use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ClientError;
use super::payload::Payload;
use crate::http1::{Headers, Outbound};

/// The half of a client that sends.
#[derive(Debug)]
pub struct Sender {
    outbound: Outbound,
    sent: Arc<AtomicU64>,
}

impl Sender {
    pub(super) fn new(outbound: Outbound) -> Self {
        let sent = Arc::default();
        Sender { outbound, sent }
    }

    /// Sends `bytes` as they are; ends when the socket has taken them.
    ///
    /// # Errors
    /// [`ClientError::Aborted`] when the peer is gone.
    pub async fn send_raw(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), ClientError> {
        Ok(self.write(bytes.as_ref()).await?)
    }

    /// Sends one chunk of a chunked body.
    ///
    /// # Errors
    /// As [`Sender::send_raw`].
    pub async fn send_chunk(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), ClientError> {
        Ok(self.chunk(bytes.as_ref()).await?)
    }

    /// Ends a chunked body.
    ///
    /// # Errors
    /// As [`Sender::send_raw`].
    pub async fn finish_chunks(&mut self) -> Result<(), ClientError> {
        Ok(self.end_chunks(&Headers::default()).await?)
    }

    /// Tells the peer that nothing more comes, and goes on receiving.
    ///
    /// # Errors
    /// As [`Sender::send_raw`].
    pub fn close_sending(&mut self) -> Result<(), ClientError> {
        Ok(self.outbound.end()?)
    }

    /// A counter of all bytes that the socket has taken.
    pub fn sent_bytes(&self) -> Arc<AtomicU64> {
        self.sent.clone()
    }

    pub(super) async fn payload(
        &mut self,
        payload: &Payload,
        trailers: &Headers,
    ) -> io::Result<()> {
        for piece in payload.pieces() {
            match payload.is_chunked() {
                true => self.chunk(&piece).await?,
                false => self.write(&piece).await?,
            }
        }
        match payload.is_chunked() {
            true => self.end_chunks(trailers).await,
            false => Ok(()),
        }
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.outbound.write(bytes).await?;
        self.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    async fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        let size = format!("{:x}\r\n", bytes.len());
        let chunk = [size.as_bytes(), bytes, b"\r\n"].concat();
        self.write(&chunk).await
    }

    async fn end_chunks(&mut self, trailers: &Headers) -> io::Result<()> {
        let mut end = b"0\r\n".to_vec();
        trailers.write_to(&mut end);
        end.extend_from_slice(b"\r\n");
        self.write(&end).await
    }
}
