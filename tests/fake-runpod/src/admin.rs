//! What a person or a test does to the fake behind the service's back.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post, put};
use axum::{Json, response::IntoResponse, response::Response};
use serde_json::{Value, json};

use crate::faults::Faults;
use crate::pods::Phase;
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
    Json(service.faults())
}

async fn set_faults(State(service): State<Arc<Service>>, Json(faults): Json<Faults>) -> StatusCode {
    service.set_faults(faults);
    StatusCode::NO_CONTENT
}

async fn truth(State(service): State<Arc<Service>>) -> Json<Value> {
    Json(service.truth())
}

async fn act(
    State(service): State<Arc<Service>>,
    Path((what, id)): Path<(String, String)>,
) -> Response {
    let done = match what.as_str() {
        "vanish" => service.vanish(&id),
        "exit" => service.end_pod(&id, Phase::Exited),
        "fail" => service.end_pod(&id, Phase::Error),
        "neglect" => service.limit_endpoint(&id, 0),
        "advance" => service.advance(&id),
        _ => false,
    };
    match done {
        true => StatusCode::NO_CONTENT.into_response(),
        false => StatusCode::NOT_FOUND.into_response(),
    }
}

impl Service {
    /// F12: it ceases to exist without a trace.
    pub(crate) fn vanish(&self, id: &str) -> bool {
        let now = self.clock.now();
        let mut state = self.lock();
        let endpoint = state.endpoints.remove(id);
        if let Some(endpoint) = &endpoint {
            endpoint.life.cancel();
        }
        let known = endpoint.is_some() || state.pods.contains_key(id);
        state.drop_pod(id, now);
        known
    }

    /// Moves a clock that stands still on by so many seconds.
    fn advance(&self, seconds: &str) -> bool {
        let by = seconds.parse().ok().map(Duration::from_secs);
        let moved = self.time.get().zip(by).map(|(time, by)| time.advance(by));
        moved.is_some()
    }

    /// A pod ends by itself.
    pub(crate) fn end_pod(&self, id: &str, phase: Phase) -> bool {
        let now = self.clock.now();
        let mut state = self.lock();
        let pod = state.pods.get_mut(id);
        pod.map(|pod| pod.end(phase, now)).is_some()
    }

    /// The platform lowers an endpoint's most workers.
    pub(crate) fn limit_endpoint(&self, id: &str, max: u32) -> bool {
        let endpoint = self.endpoint(id);
        endpoint
            .map(|it| {
                it.fleet.set_bounds(crate::fleet::Bounds {
                    max,
                    ..it.fleet.bounds()
                })
            })
            .is_some()
    }

    /// What exists, and what it has cost.
    pub(crate) fn truth(&self) -> Value {
        let now = self.clock.now();
        let state = self.lock();
        let pod = |(id, pod): (&String, &crate::pods::Pod)| {
            let status = pod.status(now, &self.settings);
            json!({ "id": id, "name": pod.said["name"], "status": status, "usd": pod.spent(now), "gpu": pod.said.get("gpu") })
        };
        let endpoint = |it: &Arc<crate::endpoints::Endpoint>| {
            let (up, busy) = it.fleet.count();
            json!({
                "id": it.id, "name": it.said("name"), "type": it.said("type"), "up": up, "busy": busy,
                "timeout": it.said("timeout"), "max": it.fleet.bounds().max, "usd": it.spent(),
            })
        };
        let billed = state.bills.iter().fold(0.0, |sum, (_, usd)| sum + usd);
        json!({
            "pods": state.pods.iter().map(pod).collect::<Vec<_>>(),
            "endpoints": state.endpoints.values().map(endpoint).collect::<Vec<_>>(),
            "pods_made": state.pods_made, "jobs_made": state.jobs_made,
            "usd_of_deleted": billed, "calls": state.calls.len(),
        })
    }
}
