use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::Control;
use crate::fleet::worker_json;

/// Who pulls, by name, as of the last reports.
pub(super) async fn workers(State(control): Control) -> Json<Value> {
    let items: Vec<Value> = control.workers().iter().map(worker_json).collect();
    Json(json!({ "items": items, "next": null }))
}

/// What waits, by deployment.
pub(super) async fn queues(State(control): Control) -> Json<Value> {
    let items = control.queues_json();
    Json(json!({ "items": items, "next": null }))
}
