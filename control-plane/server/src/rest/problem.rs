use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use thermocline_policy::FieldErrors;
use thermocline_provider::ProviderError;
use thermocline_store::StoreError;

use crate::dead_letters::Refused;
use crate::edit::EditError;

tokio::task_local! {
    /// The id of the request that is answered.
    pub(super) static REQUEST_ID: String;
}

/// An error as `application/problem+json` (RFC 9457); holds no inner detail.
#[derive(Debug)]
pub(crate) struct Problem {
    status: u16,
    code: &'static str,
    detail: String,
    errors: Option<FieldErrors>,
}

impl Problem {
    pub(crate) fn new(status: u16, code: &'static str, detail: impl Into<String>) -> Self {
        Problem {
            status,
            code,
            detail: detail.into(),
            errors: None,
        }
    }

    /// A document with mistakes.
    pub(crate) fn invalid(errors: FieldErrors) -> Self {
        let detail = match errors.as_slice() {
            [only] => only.to_string(),
            many => format!("{} fields cannot be accepted", many.len()),
        };
        Problem {
            errors: Some(errors),
            ..Problem::new(400, "invalid", detail)
        }
    }

    fn body(&self) -> Value {
        let status = StatusCode::from_u16(self.status).unwrap_or_default();
        let mut body = json!({
            "type": "about:blank",
            "title": status.canonical_reason().unwrap_or("Error"),
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
        });
        if let Ok(id) = REQUEST_ID.try_with(String::clone) {
            body["request_id"] = json!(id);
        }
        if let Some(errors) = &self.errors {
            body["errors"] = json!(errors.as_slice());
        }
        body
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, self.body().to_string()).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

impl From<EditError> for Problem {
    fn from(error: EditError) -> Self {
        match error {
            EditError::Invalid(errors) => Problem::invalid(errors),
            EditError::Exists => Problem::new(409, "exists", error.to_string()),
            EditError::NotFound(_) | EditError::NoSecret => {
                Problem::new(404, "not_found", error.to_string())
            }
            EditError::Conflict(detail) => Problem::new(409, "conflict", detail),
            EditError::Unsealable => Problem::new(503, "key_unavailable", error.to_string()),
            EditError::Store(source) => source.into(),
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NotFound => Problem::new(404, "not_found", refused.to_string()),
            Refused::Conflict { code, detail } => Problem::new(409, code, detail),
            Refused::Store(source) => source.into(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, source = ?std::error::Error::source(&error), "the store failed");
        Problem::new(503, "store_unavailable", "the store cannot be used now")
    }
}

impl From<ProviderError> for Problem {
    fn from(error: ProviderError) -> Self {
        Problem::new(502, error.kind.code(), error.detail)
    }
}
