use bytes::{Buf, Bytes, BytesMut};
use reqwest::Response;
use serde::de::DeserializeOwned;
use thermocline_wire::fleet::MOST_FRAME;

/// Reads frames, and bytes between them, from a response as it comes.
pub(super) struct Frames {
    response: Response,
    read: BytesMut,
}

impl Frames {
    pub(super) fn new(response: Response) -> Self {
        Frames {
            response,
            read: BytesMut::new(),
        }
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
            let piece = self.response.chunk().await.ok()??;
            self.read.extend_from_slice(&piece);
        }
        Some(self.read.split_to(count).freeze())
    }
}
