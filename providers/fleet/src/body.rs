//! Bodies of answers, and what is ours to say.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::Response;
use serde::Serialize;
use serde_json::{Value, json};
use thermocline_policy::VOUCHER_HEADER;

use crate::excuse::Excuse;

/// The body of every answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// `bytes`, whole.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// A status alone.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(full(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// JSON with a status.
pub(crate) fn json_body(
    status: StatusCode,
    kind: &'static str,
    value: &impl Serialize,
) -> Response<Body> {
    let text = serde_json::to_vec(value).unwrap_or_default();
    let mut response = Response::new(full(text));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

impl Excuse {
    /// The answer, in the shape that clients of such paths expect; the gateway
    /// knows by `voucher` that it is ours.
    pub(crate) fn response(self, path: &str, request_id: &str, voucher: &str) -> Response<Body> {
        let (kind, body) = match path.starts_with("/v1/") {
            true => ("application/json", self.openai(request_id)),
            false => ("application/problem+json", self.problem(request_id)),
        };
        let mut response = json_body(self.status(), kind, &body);
        if let Ok(voucher) = HeaderValue::from_str(voucher) {
            response.headers_mut().insert(VOUCHER_HEADER, voucher);
        }
        let again = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ];
        if again.contains(&self.status()) {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }

    fn problem(self, request_id: &str) -> Value {
        let (status, (code, detail)) = (self.status(), self.words());
        json!({
            "type": "about:blank", "title": status.canonical_reason(),
            "status": status.as_u16(), "code": code,
            "detail": detail, "request_id": request_id,
        })
    }

    fn openai(self, request_id: &str) -> Value {
        let (code, message) = self.words();
        let kind = match self.status().is_client_error() {
            true => "invalid_request_error",
            false => "server_error",
        };
        json!({ "error": {
            "message": message, "type": kind, "code": code, "request_id": request_id,
        } })
    }
}
