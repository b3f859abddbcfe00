use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a call is refused, as the protocol's problem document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) detail: String,
}

impl Refusal {
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Refusal {
            status: StatusCode::BAD_REQUEST,
            code: "invalid",
            detail: detail.into(),
        }
    }

    pub(crate) fn no_capacity() -> Self {
        Refusal {
            status: StatusCode::SERVICE_UNAVAILABLE,
            code: "no_capacity",
            detail: "every simulated pod is taken".to_owned(),
        }
    }

    pub(crate) fn unavailable(detail: &str) -> Self {
        Refusal {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            code: "unavailable",
            detail: detail.to_owned(),
        }
    }

    pub(crate) fn not_found() -> Self {
        Refusal {
            status: StatusCode::NOT_FOUND,
            code: "not_found",
            detail: "no such instance".to_owned(),
        }
    }

    pub(crate) fn auth() -> Self {
        Refusal {
            status: StatusCode::UNAUTHORIZED,
            code: "auth",
            detail: "the token is missing or wrong".to_owned(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let problem = json!({
            "title": self.status.canonical_reason(),
            "status": self.status.as_u16(),
            "code": self.code,
            "detail": self.detail,
        });
        let kind = HeaderValue::from_static("application/problem+json");
        let headers = [(header::CONTENT_TYPE, kind)];
        (self.status, headers, problem.to_string()).into_response()
    }
}
