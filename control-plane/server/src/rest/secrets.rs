use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::body::document;
use super::params::Named;
use super::{Control, Problem};

/// Names, dates and who uses each; never a value.
pub(super) async fn list(State(control): Control) -> Json<Value> {
    Json(json!({ "items": control.secrets_json(), "next": null }))
}

/// `{"value": …}`.
pub(super) async fn set(
    State(control): Control,
    Named(name): Named<String>,
    request: Request,
) -> Result<Response, Problem> {
    let document = document(request, &control.clock).await?;
    let (shown, created) = control.set_secret(&name, &document).await?;
    let status = match created {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    Ok((status, Json(shown)).into_response())
}

pub(super) async fn delete(
    State(control): Control,
    Named(name): Named<String>,
) -> Result<StatusCode, Problem> {
    control.delete_secret(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
