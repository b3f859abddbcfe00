use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// An error as the service writes it.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    status: StatusCode,
    body: Value,
}

/// The words of a create that finds no hardware.
pub(crate) const NO_STOCK: &str = "There are no longer any instances available with the requested specifications. Please refresh and try again.";

impl Problem {
    pub(crate) fn new(status: u16, detail: &str) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let title = status.canonical_reason().unwrap_or_default();
        let body = json!({ "title": title, "status": status.as_u16(), "detail": detail });
        Problem { status, body }
    }

    /// 422 with every mistake.
    pub(crate) fn invalid(mistakes: Vec<String>) -> Self {
        let mut problem = Problem::new(422, "Request validation failed.");
        problem.body["errors"] = mistakes.into();
        problem
    }

    pub(crate) fn not_found() -> Self {
        Problem::new(404, "resource not found")
    }

    pub(crate) fn no_stock() -> Self {
        Problem::new(400, NO_STOCK)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let kind = HeaderValue::from_static("application/problem+json");
        (
            self.status,
            [(header::CONTENT_TYPE, kind)],
            self.body.to_string(),
        )
            .into_response()
    }
}
