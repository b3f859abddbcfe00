//! What has happened: written down in batches, then told to who listens.

use serde_json::{Value, json};
use thermocline_clock::Clock;
use thermocline_store::{EventRow, NewEvent, Store};
use tokio::sync::{broadcast, mpsc};

/// The newest events that are kept.
const KEEP: i64 = 100_000;
/// Events that may wait to be written; more are dropped and counted.
const WAITING: usize = 16_384;
const BATCH: usize = 256;

/// Where events are told.
#[derive(Clone)]
pub(crate) struct Events {
    inbox: mpsc::Sender<NewEvent>,
    outlet: broadcast::Sender<EventRow>,
    clock: Clock,
}

impl Events {
    /// Begins writing events to `store`.
    pub(crate) fn start(store: Store, clock: Clock) -> Self {
        let (inbox, waiting) = mpsc::channel(WAITING);
        let (outlet, _) = broadcast::channel(4096);
        tokio::spawn(write(store, waiting, outlet.clone()));
        Events {
            inbox,
            outlet,
            clock,
        }
    }

    /// Tells an event; `text` is a sentence for people.
    pub(crate) fn tell(&self, kind: &str, deployment: Option<&str>, text: &str, mut body: Value) {
        if let Some(fields) = body.as_object_mut() {
            fields.insert("text".to_owned(), json!(text));
        }
        let event = NewEvent {
            at: self.clock.wall_micros(),
            kind: kind.to_owned(),
            deployment: deployment.map(str::to_owned),
            body: body.to_string(),
        };
        tracing::info!(kind, deployment, "{text}");
        if self.inbox.try_send(event).is_err() {
            tracing::warn!(kind, "an event was dropped: the store is too slow");
        }
    }

    /// Everything told from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<EventRow> {
        self.outlet.subscribe()
    }
}

async fn write(
    store: Store,
    mut waiting: mpsc::Receiver<NewEvent>,
    outlet: broadcast::Sender<EventRow>,
) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut since_prune = 0;
    while waiting.recv_many(&mut batch, BATCH).await > 0 {
        let last = match store.append_events(&batch).await {
            Ok(last) => last,
            Err(error) => {
                tracing::error!(%error, lost = batch.len(), "events could not be written");
                batch.clear();
                continue;
            }
        };
        let first = last - batch.len() as i64 + 1;
        for (seq, event) in (first..).zip(batch.drain(..)) {
            // Nobody listening is fine.
            let _ = outlet.send(EventRow {
                seq,
                at: event.at,
                kind: event.kind,
                deployment: event.deployment,
                body: event.body,
            });
            since_prune += 1;
        }
        if since_prune >= 10_000 {
            since_prune = 0;
            if let Err(error) = store.prune_events(KEEP).await {
                tracing::warn!(%error, "old events could not be dropped");
            }
        }
    }
}
