//! Answers that are ours: what the client may read, in the shape it expects.

mod start;

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use serde_json::json;
use thermocline_table::Outcome;

use crate::body::ResponseBody;
use crate::inbound::InboundError;
use crate::names;

pub(crate) use start::start_failed;

/// Clients do not retry after more than this, so no more is asked of them.
const LONGEST_RETRY_AFTER: u64 = 120;

/// A request that gets an answer of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// A stable word for programs.
    pub(crate) code: &'static str,
    /// A sentence for people; no address, path or key.
    pub(crate) detail: String,
    pub(crate) retry_after: Option<Duration>,
    /// Whether the connection is of no more use.
    pub(crate) close: bool,
    pub(crate) outcome: Outcome,
}

/// A refusal of `status`, whose fault follows from it.
pub(crate) fn refuse(status: u16, code: &'static str, detail: impl Into<String>) -> Refusal {
    Refusal {
        status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        code,
        detail: detail.into(),
        retry_after: None,
        close: false,
        outcome: outcome_of(status),
    }
}

/// How an answer of ours with `status` is counted.
pub(crate) const fn outcome_of(status: u16) -> Outcome {
    match status {
        429 => Outcome::Full,
        502 => Outcome::BackendBroke,
        503 => Outcome::Unavailable,
        504 => Outcome::Timeout,
        _ => Outcome::ClientError,
    }
}

impl Refusal {
    pub(crate) fn closing(mut self) -> Self {
        self.close = true;
        self
    }

    pub(crate) fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }

    /// The client left: nobody reads the answer.
    pub(crate) fn client_left() -> Self {
        Refusal {
            outcome: Outcome::ClientLeft,
            ..refuse(400, "client_left", "the client left").closing()
        }
    }

    /// An operator ended it.
    pub(crate) fn cancelled() -> Self {
        Refusal {
            outcome: Outcome::Cancelled,
            ..refuse(503, "cancelled", "an operator cancelled this request")
        }
    }

    /// The status that the client reads; `None` = nobody reads it.
    pub(crate) fn told(&self) -> Option<StatusCode> {
        (self.outcome != Outcome::ClientLeft).then_some(self.status)
    }

    /// What comes of a body that broke off.
    pub(crate) fn broken_body(error: InboundError) -> Self {
        match error {
            InboundError::Left => Refusal::client_left(),
            InboundError::Malformed => {
                refuse(400, "bad_framing", "the body is not framed as it should be").closing()
            }
        }
    }

    /// The response, in the OpenAI shape or as problem+json.
    pub(crate) fn into_response(self, id: &HeaderValue, openai: bool) -> Response<ResponseBody> {
        let request_id = id.to_str().unwrap_or_default();
        let (content_type, body) = match openai {
            true => ("application/json", self.openai(request_id)),
            false => ("application/problem+json", self.problem(request_id)),
        };
        let mut response = Response::new(ResponseBody::fixed(Bytes::from(body.to_string())));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Some(delay) = self.retry_after {
            let seconds = delay.as_secs_f64().ceil() as u64;
            let seconds = seconds.clamp(1, LONGEST_RETRY_AFTER);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.outcome == Outcome::Cancelled {
            // Clients' libraries would send it again.
            headers.insert(&names::SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if self.close {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    fn problem(&self, request_id: &str) -> serde_json::Value {
        json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "code": self.code,
            "detail": self.detail,
            "request_id": request_id,
        })
    }

    fn openai(&self, request_id: &str) -> serde_json::Value {
        let kind = match self.status.as_u16() {
            429 => "rate_limit_error",
            status if status < 500 => "invalid_request_error",
            _ => "server_error",
        };
        json!({
            "error": {
                "message": self.detail,
                "type": kind,
                "code": self.code,
                "param": null,
                "request_id": request_id,
            }
        })
    }
}
