//! Requests: as they end, on their way, and cancelled.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use thermocline_table::Outcome;
use tokio::sync::broadcast::error::RecvError;

use super::params::{self, Asked, Named};
use super::{Control, Problem};

/// Requests in flight that one answer tells.
const MOST_TOLD: u32 = 1000;

/// `?deployment&failed`.
#[derive(Deserialize)]
pub(super) struct Filter {
    #[serde(default, deserialize_with = "params::name")]
    deployment: Option<String>,
    #[serde(default, deserialize_with = "params::flag")]
    failed: bool,
}

/// The requests that end from now on, until we drain.
pub(super) async fn tail(
    State(control): Control,
    Asked(filter): Asked<Filter>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let inbox = control.watch_requests();
    let drained = control.drain.clone().cancelled_owned();
    let state = (control, filter, inbox);
    let told = stream::unfold(state, |(control, filter, mut inbox)| async move {
        let event = loop {
            match inbox.recv().await {
                Ok(ended) if !filter.passes(&ended.request.deployment.name, ended.outcome) => {}
                Ok(ended) => {
                    break Event::default().data(control.ended_json(&ended).to_string());
                }
                Err(RecvError::Lagged(lost)) => {
                    let lost = json!({ "lost": lost }).to_string();
                    break Event::default().event("lost").data(lost);
                }
                Err(RecvError::Closed) => return None,
            }
        };
        Some((event, (control, filter, inbox)))
    });
    // The head goes at once: who watches an idle server is connected too.
    let watching = stream::once(async { Event::default().event("watching").data("{}") });
    let events = watching.chain(told).map(Ok).take_until(drained);
    Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
}

impl Filter {
    fn passes(&self, deployment: &str, outcome: Outcome) -> bool {
        let wanted = self
            .deployment
            .as_deref()
            .is_none_or(|name| name == deployment);
        wanted && !(self.failed && outcome == Outcome::Ok)
    }
}

/// `?deployment&limit`.
#[derive(Deserialize)]
pub(super) struct Whose {
    #[serde(default, deserialize_with = "params::name")]
    deployment: Option<String>,
    #[serde(default, deserialize_with = "params::limit::<_, MOST_TOLD>")]
    limit: Option<u32>,
}

/// Requests on their way, the oldest first, and how many there are.
pub(super) async fn in_flight(State(control): Control, Asked(whose): Asked<Whose>) -> Json<Value> {
    let mut all = control.table.in_flight.all();
    if let Some(name) = whose.deployment {
        all.retain(|ongoing| *ongoing.deployment.name == name);
    }
    let most = whose.limit.unwrap_or(MOST_TOLD) as usize;
    let items: Vec<Value> = all
        .iter()
        .take(most)
        .map(|ongoing| control.ongoing_json(ongoing))
        .collect();
    Json(json!({ "items": items, "total": all.len(), "next": null }))
}

/// Ends a request that is on its way: its client is answered 503, or its answer
/// is broken off, and its backend is told.
pub(super) async fn cancel(
    State(control): Control,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    let missing = || Problem::new(404, "not_found", "no such request is in flight");
    let ongoing = control.table.in_flight.find(&id).ok_or_else(missing)?;
    if ongoing.cancel() {
        let deployment = &*ongoing.deployment.name;
        let request_id = ongoing.request_id();
        tracing::info!(deployment, request_id, "an operator cancelled a request");
    }
    let told = control.ongoing_json(&ongoing);
    Ok((StatusCode::ACCEPTED, Json(told)).into_response())
}
