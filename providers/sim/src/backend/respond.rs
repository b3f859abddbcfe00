use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use serde_json::{Value, json};

use super::events::event_stream;
use super::{Backend, ReplyBody, body};

/// The time between two events where the request names none, milliseconds.
const GAP_MS: u64 = 20;

impl Backend {
    /// Does the work of a request and answers it.
    pub(super) async fn respond(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<ReplyBody>, hyper::Error> {
        let (head, body) = request.into_parts();
        match (&head.method, head.uri.path()) {
            (&Method::POST, "/echo") => Ok(self.echo(body, head.headers.get(CONTENT_TYPE)).await),
            (&Method::POST, "/v1/chat/completions") => self.chat(body).await,
            (method, path) => {
                let received = count(body).await?;
                self.work().await;
                let Some(events) = query(&head.uri, "sse") else {
                    return Ok(self.describe(method, path, received));
                };
                let gap = query(&head.uri, "gap_ms").unwrap_or(GAP_MS);
                let data = (1..=events).map(move |n| json!({"event": n, "of": events}).to_string());
                Ok(event_stream(
                    data,
                    Duration::from_millis(gap),
                    self.clock.clone(),
                ))
            }
        }
    }

    /// The request's body, as it comes.
    async fn echo(&self, body: Incoming, kind: Option<&HeaderValue>) -> Response<ReplyBody> {
        self.work().await;
        let mut response = Response::new(body.boxed_unsync());
        let kinds = kind.map(|kind| (CONTENT_TYPE, kind.clone()));
        response.headers_mut().extend(kinds);
        response
    }

    fn describe(&self, method: &Method, path: &str, received: u64) -> Response<ReplyBody> {
        let said = json!({
            "deployment": self.deployment,
            "instance": self.instance,
            "tier": self.tier,
            "method": method.as_str(),
            "path": path,
            "bytes_received": received,
        });
        json_response(StatusCode::OK, &said)
    }
}

pub(super) fn json_response(status: StatusCode, value: &Value) -> Response<ReplyBody> {
    let mut response = Response::new(body::full(format!("{value}\n")));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Reads a body to its end and keeps nothing of it; how long it was, bytes.
async fn count(mut body: Incoming) -> Result<u64, hyper::Error> {
    let mut received = 0;
    while let Some(frame) = body.frame().await {
        received += frame?.data_ref().map_or(0, |data| data.len() as u64);
    }
    Ok(received)
}

/// The number that a query gives for `name`.
fn query(uri: &Uri, name: &str) -> Option<u64> {
    let pairs = uri.query()?.split('&');
    let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name)?.1.parse().ok()
}
