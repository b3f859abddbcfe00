//! The bodies that the backend answers with.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::Events;

/// How much of a bulk answer is handed over at once.
static BLOCK: [u8; 128 << 10] = [b'x'; 128 << 10];

/// A body: one short text, so many bytes, or events.
pub(crate) enum Answer {
    Text(Bytes),
    Bulk(u64),
    Events(Events),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match self.get_mut() {
            Answer::Text(text) => Poll::Ready((!text.is_empty()).then(|| std::mem::take(text))),
            Answer::Bulk(left) => Poll::Ready(block(left)),
            Answer::Events(events) => events.poll_next(context),
        };
        data.map(|data| data.map(|data| Ok(Frame::data(data))))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Answer::Text(text) => SizeHint::with_exact(text.len() as u64),
            Answer::Bulk(left) => SizeHint::with_exact(*left),
            Answer::Events(_) => SizeHint::default(),
        }
    }
}

fn block(left: &mut u64) -> Option<Bytes> {
    let length = (*left).min(BLOCK.len() as u64);
    *left -= length;
    (length > 0).then(|| Bytes::from_static(&BLOCK[..length as usize]))
}
