use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// A refusal in one of the service's shapes.
#[derive(Debug, Clone)]
pub(crate) struct No {
    status: u16,
    body: Value,
}

impl No {
    /// `{"success":false,"error":…,"msg":…}`.
    pub(crate) fn new(status: u16, error: &str, msg: &str) -> Self {
        let body = json!({ "success": false, "error": error, "msg": msg });
        No { status, body }
    }

    pub(crate) fn invalid_args(what: &str) -> Self {
        No::new(
            400,
            "invalid_args",
            &format!("error 400/3467: Invalid args: {what}"),
        )
    }

    /// The offer is not there.
    pub(crate) fn no_such_ask(ask: u64) -> Self {
        let msg =
            format!("error 404/3603: no_such_ask Instance type by id {ask} is not available.");
        No::new(404, "invalid_args", &msg).with("ask_id", ask)
    }

    /// The offer was taken since it was shown.
    pub(crate) fn taken(ask: u64) -> Self {
        let msg =
            format!("error 410/3907: no_such_ask Instance type {ask} is no longer available.");
        No::new(410, "no_such_ask", &msg).with("ask_id", ask)
    }

    pub(crate) fn no_such_instance(id: u64) -> Self {
        No::new(
            404,
            "no_such_instance",
            &format!("Instance {id} not found."),
        )
    }

    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.body[key] = value.into();
        self
    }
}

impl IntoResponse for No {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or_default();
        (status, Json(self.body)).into_response()
    }
}
