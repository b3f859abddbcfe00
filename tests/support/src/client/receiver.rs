use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use super::error::within;
use super::{ClientError, Head};
use crate::http1::websocket::Frame;
use crate::http1::{BodyReader, Framing, Headers, Inbound, now};
use crate::watched::PATIENCE;

/// How a body or a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// As the protocol has it.
    Clean,
    /// Broken off.
    Aborted,
}

/// A piece of a body as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What came; never empty.
    pub bytes: Bytes,
    /// When.
    pub at: Instant,
}

/// A body up to its end, be it a good one or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// What came.
    pub bytes: Bytes,
    /// The trailers after it.
    pub trailers: Headers,
    /// How it ended.
    pub ended: Ended,
}

/// The half of a client that receives.
#[derive(Debug)]
pub struct Receiver {
    inbound: Inbound,
    body: BodyReader,
    pub(super) head_only: bool,
    pub(super) patience: Duration,
}

impl Receiver {
    pub(super) fn new(inbound: Inbound) -> Self {
        Receiver {
            inbound,
            body: BodyReader::new(Framing::Empty),
            head_only: false,
            patience: PATIENCE,
        }
    }

    /// The next head, an interim (1xx) one too. The body before it must have
    /// been read.
    ///
    /// # Errors
    /// [`ClientError::Closed`] when the peer closes instead.
    pub async fn read_head(&mut self) -> Result<Head, ClientError> {
        let head = within(self.patience, self.inbound.head(Head::parse)).await?;
        let head = head.ok_or(ClientError::Closed)?;
        self.body = BodyReader::new(Framing::of_response(&head, self.head_only));
        Ok(head)
    }

    /// The next piece of the body, as soon as it arrives; `None` at its end.
    ///
    /// # Errors
    /// [`ClientError::Aborted`] when it was broken off.
    pub async fn read_chunk(&mut self) -> Result<Option<Chunk>, ClientError> {
        let piece = within(self.patience, self.body.piece(&mut self.inbound)).await?;
        Ok(piece.map(|bytes| Chunk { bytes, at: now() }))
    }

    /// The rest of the body.
    ///
    /// # Errors
    /// When it stands still or is malformed; one that was broken off is none.
    pub async fn read_body(&mut self) -> Result<Body, ClientError> {
        let mut bytes = BytesMut::new();
        let ended = loop {
            match self.read_chunk().await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk.bytes),
                Ok(None) => break Ended::Clean,
                Err(ClientError::Aborted(_)) => break Ended::Aborted,
                Err(error) => return Err(error),
            }
        };
        Ok(Body {
            bytes: bytes.freeze(),
            trailers: self.body.trailers().clone(),
            ended,
        })
    }

    /// Everything until the peer ends the connection: a close is clean here,
    /// a reset is not.
    ///
    /// # Errors
    /// [`ClientError::TimedOut`] when it does not.
    pub async fn read_to_end_raw(&mut self) -> Result<(Bytes, Ended), ClientError> {
        let mut bytes = BytesMut::new();
        loop {
            match within(self.patience, self.inbound.some(u64::MAX)).await {
                Ok(Some(piece)) => bytes.extend_from_slice(&piece),
                Ok(None) => return Ok((bytes.freeze(), Ended::Clean)),
                Err(ClientError::Aborted(_)) => return Ok((bytes.freeze(), Ended::Aborted)),
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether the peer has sent something that was not taken yet, or closed.
    pub async fn something_comes_within(&mut self, time: Duration) -> bool {
        self.inbound.has_unread() || within(time, self.inbound.fill()).await.is_ok()
    }

    pub(super) async fn read_frame(&mut self) -> Result<Option<Frame>, ClientError> {
        within(self.patience, Frame::read(&mut self.inbound)).await
    }
}
