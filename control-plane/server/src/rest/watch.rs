use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use thermocline_table::Outcome;
use tokio::sync::broadcast::error::RecvError;

use super::deployments::find;
use super::params::{self, Asked, Named};
use super::{Control, Problem};

/// What a chart shows that asks for no time.
const USUAL: i64 = 20 * 60 * 1_000_000;

/// `?from&to`.
#[derive(Deserialize)]
pub(super) struct Span {
    #[serde(default, deserialize_with = "params::time")]
    from: Option<i64>,
    #[serde(default, deserialize_with = "params::time")]
    to: Option<i64>,
}

pub(super) async fn series(
    State(control): Control,
    Named(name): Named<String>,
    Asked(span): Asked<Span>,
) -> Result<Json<Value>, Problem> {
    let deployment = find(&control, &name)?;
    let now = control.clock.wall_micros();
    let to = span.to.unwrap_or(now);
    let from = span.from.unwrap_or(to.saturating_sub(USUAL));
    if from > to {
        return Err(params::wrong("from", "must not be after to"));
    }
    Ok(Json(control.series_json(&deployment, from, to)))
}

/// `?deployment`.
#[derive(Deserialize)]
pub(super) struct Whose {
    #[serde(default, deserialize_with = "params::name")]
    deployment: Option<String>,
}

pub(super) async fn cold_starts(
    State(control): Control,
    Asked(whose): Asked<Whose>,
) -> Json<Value> {
    let items = control.cold_starts.json(whose.deployment.as_deref());
    Json(json!({ "items": items, "next": null }))
}

/// `?deployment&failed`.
#[derive(Deserialize)]
pub(super) struct Filter {
    #[serde(default, deserialize_with = "params::name")]
    deployment: Option<String>,
    #[serde(default, deserialize_with = "params::flag")]
    failed: bool,
}

/// The requests that end from now on, until we drain.
pub(super) async fn requests(
    State(control): Control,
    Asked(filter): Asked<Filter>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let inbox = control.watch_requests();
    let drained = control.drain.clone().cancelled_owned();
    let state = (control, filter, inbox);
    let told = stream::unfold(state, |(control, filter, mut inbox)| async move {
        let event = loop {
            match inbox.recv().await {
                Ok(ended) if !filter.passes(&ended.deployment, ended.outcome) => {}
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
