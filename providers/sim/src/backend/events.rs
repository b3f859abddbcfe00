use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use thermocline_clock::Clock;

use super::{Infallible, ReplyBody, body};

/// An event stream of the texts in `data`, with `gap` between two.
pub(super) fn event_stream(
    data: impl Iterator<Item = String> + Send + 'static,
    gap: Duration,
    clock: Clock,
) -> Response<ReplyBody> {
    let frames = stream::unfold((data, false), move |(mut data, begun)| {
        let clock = clock.clone();
        async move {
            let text = data.next()?;
            if begun && !gap.is_zero() {
                clock.sleep(gap).await;
            }
            let frame = Frame::data(Bytes::from(format!("data: {text}\n\n")));
            Some((Ok::<_, Infallible>(frame), (data, true)))
        }
    });
    let body = StreamBody::new(frames).map_err(body::impossible);
    let mut response = Response::new(body.boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
