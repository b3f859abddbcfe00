//! Who watches requests end. While nobody does, requests do not know of it.

use std::sync::Arc;

use serde_json::{Value, json};
use thermocline_policy::Moment;
use thermocline_table::{Ended, Ongoing, Outcome, Start};
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
        let seconds = |from, to: Moment| to.since(from).as_secs_f64();
        let (arrived, sent) = (ended.request.arrived, ended.sent);
        let mut request = self.request_json(&ended.request);
        request["tier"] = json!(ended.tier);
        request["start"] = json!(ended.start.as_str());
        request["outcome"] = json!(ended.outcome.as_str());
        request["status"] = json!(ended.status.map(|status| status.as_u16()));
        request["held_s"] = json!(seconds(arrived, sent.unwrap_or(ended.ended)));
        request["upstream_s"] = json!(sent.map(|sent| seconds(sent, ended.ended)));
        request["total_s"] = json!(seconds(arrived, ended.ended));
        request
    }

    /// How a request that is on its way reads.
    pub(crate) fn ongoing_json(&self, ongoing: &Ongoing) -> Value {
        let age = self.clock.now().since(ongoing.arrived);
        let mut request = self.request_json(ongoing);
        request["id"] = json!(self.table.in_flight.id(ongoing));
        request["tier"] = json!(ongoing.tier());
        request["stage"] = json!(ongoing.stage().as_str());
        request["age_s"] = json!(age.as_secs_f64());
        request
    }

    /// What a request is, whatever has become of it.
    fn request_json(&self, request: &Ongoing) -> Value {
        let ago = self.clock.now().since(request.arrived).as_micros() as i64;
        json!({
            "at": rfc3339(self.clock.wall_micros() - ago),
            "request_id": request.request_id(),
            "deployment": &*request.deployment.name,
            "method": request.method.as_str(),
            "path": request.path(),
        })
    }

    /// Notes the first answers after cold starts.
    pub(crate) fn note_first_answers(&self) {
        for deployment in self.all() {
            if let Some(ended) = deployment.live.tail.take_after_start()
                && matches!(ended.start, Start::Cold | Start::Joined)
                && let (Outcome::Ok, Some(sent)) = (ended.outcome, ended.sent)
            {
                let (name, tier) = (&deployment.live.name, ended.tier);
                self.cold_starts.answered(name, tier, sent, ended.ended);
            }
        }
    }
}
