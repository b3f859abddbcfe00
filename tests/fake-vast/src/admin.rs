//! What a person or a test does to the fake behind the service's back.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde_json::Value;

use crate::faults::Faults;
use crate::instances::Phase;
use crate::service::Service;

/// `/fake/…`.
pub(crate) fn routes(service: Arc<Service>) -> Router {
    Router::new()
        .route("/fake/faults", put(set_faults).get(faults))
        .route("/fake/truth", get(truth))
        .route("/fake/{what}/{id}", post(act))
        .with_state(service)
}

async fn faults(State(service): State<Arc<Service>>) -> Json<Faults> {
    Json(service.lock().faults.clone())
}

async fn set_faults(State(service): State<Arc<Service>>, Json(faults): Json<Faults>) -> StatusCode {
    service.lock().faults = faults;
    StatusCode::NO_CONTENT
}

async fn truth(State(service): State<Arc<Service>>) -> Json<Value> {
    Json(service.truth())
}

async fn act(
    State(service): State<Arc<Service>>,
    Path((what, id)): Path<(String, u64)>,
) -> StatusCode {
    let done = match what.as_str() {
        "vanish" => service.vanish(id),
        "exit" => service.end(id, Phase::Exited),
        "offline" => service.end(id, Phase::Offline),
        "outbid" => service.end(id, Phase::Outbid),
        _ => false,
    };
    match done {
        true => StatusCode::NO_CONTENT,
        false => StatusCode::NOT_FOUND,
    }
}
