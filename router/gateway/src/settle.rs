//! The only place that gives back what a request held, and counts how it ended.

use std::sync::Arc;

use thermocline_clock::Clock;
use thermocline_policy::{Moment, Tier};
use thermocline_table::{BackendPermit, Deployment, Ended, Outcome, Permit, Start};

use crate::acquire::Served;

/// A request that has been counted in and must be counted out. Dropped without
/// an outcome, its client has left.
pub(crate) struct Arrival {
    deployment: Arc<Deployment>,
    clock: Clock,
    arrived: Moment,
    tier: Tier,
    start: Start,
    open: bool,
}

impl Arrival {
    pub(crate) fn new(deployment: Arc<Deployment>, arrived: Moment, tier: Tier) -> Self {
        Arrival {
            clock: deployment.clock().clone(),
            deployment,
            arrived,
            tier,
            start: Start::Warm,
            open: true,
        }
    }

    /// It is served so.
    pub(crate) fn serve(&mut self, served: &Served) {
        self.tier = served.tier;
        self.start = served.start;
    }

    /// Ends it.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        self.end_at(outcome, None, self.clock.now());
    }

    fn end_at(&mut self, outcome: Outcome, sent: Option<Moment>, now: Moment) {
        if std::mem::take(&mut self.open) {
            let tally = &self.deployment.tally;
            tally.request(self.tier, self.start, outcome);
            tally.duration.observe(now.since(self.arrived));
            if self.deployment.tail.wants(self.start) {
                self.deployment.tail.tell(self.ended(outcome, sent, now));
            }
        }
    }

    fn ended(&self, outcome: Outcome, sent: Option<Moment>, ended: Moment) -> Ended {
        Ended {
            deployment: self.deployment.name.clone(),
            tier: self.tier,
            start: self.start,
            outcome,
            arrived: self.arrived,
            sent,
            ended,
        }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        if self.open {
            self.end(Outcome::ClientLeft);
        }
    }
}

/// A request that a backend has in hand, with all that it holds.
pub(crate) struct Settlement {
    arrival: Arrival,
    sent: Moment,
    _place: Option<Permit>,
    backend: BackendPermit,
}

impl Settlement {
    pub(crate) fn new(
        arrival: Arrival,
        sent: Moment,
        place: Option<Permit>,
        backend: BackendPermit,
    ) -> Self {
        let tally = &arrival.deployment.tally;
        tally.queue.observe(sent.since(arrival.arrived));
        Settlement {
            arrival,
            sent,
            _place: place,
            backend,
        }
    }

    pub(crate) fn backend(&self) -> &BackendPermit {
        &self.backend
    }

    /// Ends it at `now` and gives everything back.
    pub(crate) fn end_at(mut self, outcome: Outcome, now: Moment) {
        self.close(outcome, now);
    }

    /// Ends it and gives everything back.
    pub(crate) fn end(self, outcome: Outcome) {
        let now = self.arrival.clock.now();
        self.end_at(outcome, now);
    }

    fn close(&mut self, outcome: Outcome, now: Moment) {
        if self.arrival.open {
            self.arrival.end_at(outcome, Some(self.sent), now);
            let tally = &self.arrival.deployment.tally;
            tally.inference.observe(now.since(self.sent));
            if outcome == Outcome::Ok {
                tally.service[self.arrival.tier].record(now.since(self.sent));
            }
            self.backend.ended_at(now);
        }
    }
}

impl Drop for Settlement {
    fn drop(&mut self) {
        if self.arrival.open {
            self.close(Outcome::ClientLeft, self.arrival.clock.now());
        }
    }
}
