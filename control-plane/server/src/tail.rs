//! Who watches requests end. While nobody does, requests do not know of it.

use std::sync::Arc;

use serde_json::{Value, json};
use thermocline_table::{Ended, Start};
use thermocline_wire::rfc3339;
use tokio::sync::broadcast;

use crate::control::ControlPlane;

/// Requests that may wait for a watcher; one that is slower loses some.
const WAITING: usize = 1024;

/// Where requests that end are told.
pub(crate) fn outlet() -> broadcast::Sender<Ended> {
    broadcast::channel(WAITING).0
}

impl ControlPlane {
    /// Requests that end from now on, until the receiver is dropped.
    pub(crate) fn watch_requests(self: &Arc<Self>) -> broadcast::Receiver<Ended> {
        let inbox = self.tail.subscribe();
        self.heed_watchers();
        inbox
    }

    /// Makes every deployment tell of its requests, or stop telling.
    pub(crate) fn heed_watchers(&self) {
        let watched = self.tail.receiver_count() > 0;
        for deployment in self.all() {
            if deployment.live.tail.is_watched() != watched {
                let outlet = watched.then(|| self.tail.clone());
                deployment.live.tail.watch(outlet);
            }
        }
    }

    /// How a request that has ended reads.
    pub(crate) fn ended_json(&self, ended: &Ended) -> Value {
        let ago = self.clock.now().since(ended.arrived).as_micros() as i64;
        let seconds = |from, to: thermocline_policy::Moment| to.since(from).as_secs_f64();
        let sent = ended.sent;
        json!({
            "at": rfc3339(self.clock.wall_micros() - ago),
            "deployment": &*ended.deployment,
            "tier": ended.tier,
            "start": ended.start.as_str(),
            "outcome": ended.outcome.as_str(),
            "held_s": seconds(ended.arrived, sent.unwrap_or(ended.ended)),
            "upstream_s": sent.map(|sent| seconds(sent, ended.ended)),
            "total_s": seconds(ended.arrived, ended.ended),
        })
    }

    /// Notes the first answers after cold starts.
    pub(crate) fn note_first_answers(&self) {
        for deployment in self.all() {
            if let Some(ended) = deployment.live.tail.take_after_start()
                && matches!(ended.start, Start::Cold | Start::Joined)
            {
                self.cold_starts.answered(&ended);
            }
        }
    }
}
