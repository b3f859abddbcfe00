use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::Response;
use serde_json::{Value, json};

/// The body of every answer.
pub(super) type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// JSON with a status.
pub(super) fn json(status: StatusCode, value: &Value) -> Response<Body> {
    let text = Full::new(Bytes::from(value.to_string()));
    let mut response = Response::new(text.map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Why a request became no output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    pub(super) detail: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Refusal {
            status,
            code,
            detail: detail.into(),
        }
    }

    /// The endpoint cannot be asked.
    pub(super) fn unreachable() -> Self {
        Refusal::new(
            StatusCode::BAD_GATEWAY,
            "unavailable",
            "the endpoint does not answer",
        )
    }

    /// RunPod does not take the account's key: no client and no worker is to blame.
    pub(super) fn no_key() -> Self {
        Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "auth",
            "the provider does not accept this server's key",
        )
    }

    /// RunPod knows no such endpoint, so nothing was made there.
    pub(super) fn no_endpoint() -> Self {
        Refusal::new(
            StatusCode::NOT_FOUND,
            "no_endpoint",
            "there is no such endpoint",
        )
    }

    /// Whether the job may go on although nobody waits for it any more.
    pub(super) fn leaves_the_job(&self) -> bool {
        matches!(self.code, "job_timed_out" | "unavailable")
    }

    pub(super) fn response(&self) -> Response<Body> {
        let problem = json!({
            "title": self.status.canonical_reason(), "status": self.status.as_u16(),
            "code": self.code, "detail": self.detail,
        });
        let mut response = json(self.status, &problem);
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if matches!(
            self.status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
