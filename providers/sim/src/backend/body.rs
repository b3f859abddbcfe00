use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Frame, SizeHint};

use super::{Infallible, Worker};

/// A response's body before its worker is tied to it.
pub(super) type ReplyBody = UnsyncBoxBody<Bytes, hyper::Error>;

/// A body that keeps its worker at work until it was sent or given up.
pub(super) struct Body {
    body: ReplyBody,
    _worker: Option<Worker>,
}

impl Body {
    pub(super) fn new(body: ReplyBody, worker: Option<Worker>) -> Self {
        Body {
            body,
            _worker: worker,
        }
    }
}

/// A body that is all there.
pub(super) fn full(bytes: impl Into<Bytes>) -> ReplyBody {
    Full::new(bytes.into()).map_err(impossible).boxed_unsync()
}

/// The error of a body that has none.
pub(super) fn impossible(never: Infallible) -> hyper::Error {
    match never {}
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
