use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::Control;
use crate::fleet::{queue_json, worker_json};

/// Who pulls, by name, as of the last reports.
pub(super) async fn workers(State(control): Control) -> Json<Value> {
    let items: Vec<Value> = control.workers().iter().map(worker_json).collect();
    Json(json!({ "items": items, "next": null }))
}

/// What waits, by deployment.
pub(super) async fn queues(State(control): Control) -> Json<Value> {
    let items: Vec<Value> = control.queues().iter().map(queue_json).collect();
    Json(json!({ "items": items, "next": null }))
}
