use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use thermocline_store::{EventRow, Store, StoreError};
use thermocline_wire::rfc3339;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::params::{self, Asked};
use super::{Control, Problem};
use crate::gauges;

/// What a listener without a place to resume from gets first.
const BACKLOG: i64 = 100;
const PAGE: u32 = 1_000;

/// `?gauges`.
#[derive(Deserialize)]
pub(super) struct Wanted {
    #[serde(default, deserialize_with = "params::flag")]
    gauges: bool,
}

/// The events since `Last-Event-ID`, then those that happen, until we drain.
pub(super) async fn stream(
    State(control): Control,
    Asked(wanted): Asked<Wanted>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let live = control.events.listen();
    let last = control.store.last_event_seq().await?;
    let after = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse().ok())
        .unwrap_or((last - BACKLOG).max(0));
    let backlog = all_after(&control.store, after).await?;
    let seen = backlog.last().map_or(after, |row| row.seq);
    let caught_up = Event::default().event("caught-up").data("{}");
    let past = stream::iter(backlog).map(|row| event(&row));
    let events = past
        .chain(stream::once(async { caught_up }))
        .chain(from_now_on(live, seen))
        .boxed();
    let drained = control.drain.clone().cancelled_owned();
    let told = match wanted.gauges {
        true => along(events, gauges::stream(control).boxed()),
        false => events,
    };
    let events = told.map(Ok).take_until(drained);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}

/// Both, until `events` ends.
fn along(
    events: BoxStream<'static, Event>,
    others: BoxStream<'static, Event>,
) -> BoxStream<'static, Event> {
    let events = events.map(Some).chain(stream::once(async { None }));
    stream::select(events, others.map(Some))
        .take_while(|event| std::future::ready(event.is_some()))
        .filter_map(std::future::ready)
        .boxed()
}

/// Every event after `seq`, page by page: none may be missing between the past
/// and what is told from now on.
async fn all_after(store: &Store, seq: i64) -> Result<Vec<EventRow>, StoreError> {
    let mut all: Vec<EventRow> = Vec::new();
    loop {
        let after = all.last().map_or(seq, |row| row.seq);
        let page = store.events_after(after, PAGE).await?;
        let last = page.len() < PAGE as usize;
        all.extend(page);
        if last {
            return Ok(all);
        }
    }
}

/// What is told after `seen`; a listener that is too slow is cut off, and
/// resumes where it was.
fn from_now_on(live: broadcast::Receiver<EventRow>, seen: i64) -> BoxStream<'static, Event> {
    stream::unfold((live, seen), |(mut live, seen)| async move {
        loop {
            match live.recv().await {
                Ok(row) if row.seq <= seen => {}
                Ok(row) => return Some((event(&row), (live, row.seq))),
                Err(RecvError::Lagged(_) | RecvError::Closed) => return None,
            }
        }
    })
    .boxed()
}

fn event(row: &EventRow) -> Event {
    let mut body: Value = serde_json::from_str(&row.body).unwrap_or_else(|_| json!({}));
    body["id"] = json!(row.seq);
    body["at"] = json!(rfc3339(row.at));
    body["kind"] = json!(row.kind);
    body["deployment"] = json!(row.deployment);
    Event::default()
        .id(row.seq.to_string())
        .data(body.to_string())
}
