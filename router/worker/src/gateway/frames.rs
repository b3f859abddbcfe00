use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use reqwest::Response;
use serde::de::DeserializeOwned;
use thermocline_clock::Clock;
use thermocline_wire::fleet::MOST_FRAME;

/// Reads frames, and bytes between them, from a response as it comes.
pub(super) struct Frames {
    response: Response,
    read: BytesMut,
    clock: Clock,
    /// How long each piece may take.
    patience: Duration,
}

impl Frames {
    /// Slow is allowed, silent for longer than `patience` is not.
    pub(super) fn new(response: Response, clock: Clock, patience: Duration) -> Self {
        Frames {
            response,
            read: BytesMut::new(),
            clock,
            patience,
        }
    }

    /// The last frame, however long it is in coming.
    pub(super) async fn last<T: DeserializeOwned>(mut self) -> Option<T> {
        self.patience = Duration::MAX;
        self.frame().await
    }

    /// The next frame; `None` when it broke off or is none.
    pub(super) async fn frame<T: DeserializeOwned>(&mut self) -> Option<T> {
        let length = self.bytes(4).await?.get_u32() as usize;
        if length > MOST_FRAME {
            return None;
        }
        serde_json::from_slice(&self.bytes(length).await?).ok()
    }

    /// The next `count` bytes; `None` when it broke off before.
    pub(super) async fn bytes(&mut self, count: usize) -> Option<Bytes> {
        while self.read.len() < count {
            let piece = self.piece().await?;
            self.read.extend_from_slice(&piece);
        }
        Some(self.read.split_to(count).freeze())
    }

    async fn piece(&mut self) -> Option<Bytes> {
        let deadline = self.clock.now() + self.patience;
        let piece = self.clock.timeout_at(deadline, self.response.chunk());
        piece.await.ok()?.ok()?
    }
}
