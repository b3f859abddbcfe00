//! The only place that gives back what a request held, and counts how it ended.

use std::sync::Arc;

use http::StatusCode;
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use thermocline_table::{
    BackendPermit, Deployment, Ended, Listed, Ongoing, Outcome, Permit, Stage, Start,
};

use crate::acquire::Served;
use crate::refusal::{Refusal, outcome_of};

/// A request that has been counted in and must be counted out. Dropped without
/// an outcome, its client has left, or an operator cancelled it.
pub(crate) struct Arrival {
    listed: Listed,
    clock: Clock,
    start: Start,
    open: bool,
}

/// How a request ended.
struct End {
    outcome: Outcome,
    /// The status that the client was answered with.
    status: Option<StatusCode>,
    /// When it was sent to a backend.
    sent: Option<Moment>,
    at: Moment,
}

impl Arrival {
    pub(crate) fn new(listed: Listed) -> Self {
        Arrival {
            clock: listed.ongoing().deployment.clock().clone(),
            listed,
            start: Start::Warm,
            open: true,
        }
    }

    /// What is told of it while it is on its way.
    pub(crate) fn ongoing(&self) -> &Arc<Ongoing> {
        self.listed.ongoing()
    }

    /// It is served so.
    pub(crate) fn serve(&mut self, served: &Served) {
        self.ongoing().serve(served.tier);
        self.start = served.start;
    }

    /// Ends it with an answer of ours.
    pub(crate) fn refuse(&mut self, refusal: &Refusal) {
        self.end(End {
            outcome: refusal.outcome,
            status: refusal.told(),
            sent: None,
            at: self.clock.now(),
        });
    }

    fn end(&mut self, end: End) {
        if std::mem::take(&mut self.open) {
            let ongoing = self.listed.ongoing();
            let Deployment { tally, tail, .. } = &*ongoing.deployment;
            tally.request(ongoing.tier(), self.start, end.outcome);
            tally.duration.observe(end.at.since(ongoing.arrived));
            if tail.wants(self.start) {
                tail.tell(self.ended(end));
            }
        }
    }

    fn ended(&self, end: End) -> Ended {
        Ended {
            request: self.ongoing().clone(),
            tier: self.ongoing().tier(),
            start: self.start,
            outcome: end.outcome,
            status: end.status,
            sent: end.sent,
            ended: end.at,
        }
    }

    /// How it ended that nobody has ended.
    fn dropped(&self) -> Outcome {
        match self.ongoing().is_cancelled() {
            true => Outcome::Cancelled,
            false => Outcome::ClientLeft,
        }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        if self.open {
            let outcome = self.dropped();
            let cancelled = outcome == Outcome::Cancelled;
            self.end(End {
                outcome,
                status: cancelled.then(|| Refusal::cancelled().status),
                sent: None,
                at: self.clock.now(),
            });
        }
    }
}

/// A request that a backend has in hand, with all that it holds.
pub(crate) struct Settlement {
    arrival: Arrival,
    sent: Moment,
    status: StatusCode,
    /// Whether the answer is ours, although a backend's address gave it.
    ours: bool,
    _place: Permit,
    backend: BackendPermit,
}

impl Settlement {
    /// It was sent to `backend` at `sent`, which answers with `status`.
    pub(crate) fn new(
        arrival: Arrival,
        sent: Moment,
        status: StatusCode,
        place: Permit,
        backend: BackendPermit,
    ) -> Self {
        let ongoing = arrival.ongoing();
        let queued = sent.since(ongoing.arrived);
        ongoing.deployment.tally.queue.observe(queued);
        ongoing.reach(Stage::Answering);
        Settlement {
            arrival,
            sent,
            status,
            ours: false,
            _place: place,
            backend,
        }
    }

    /// Whether what answers for its backend within this process says that the
    /// answer is its own.
    pub(crate) fn vouched(mut self, ours: bool) -> Self {
        self.ours = ours;
        self
    }

    pub(crate) fn backend(&self) -> &BackendPermit {
        &self.backend
    }

    /// What is told of it while it is on its way.
    pub(crate) fn ongoing(&self) -> &Arc<Ongoing> {
        self.arrival.ongoing()
    }

    /// Ends it whole at `now` and gives everything back.
    pub(crate) fn complete_at(mut self, now: Moment) {
        let outcome = match self.status.is_server_error() {
            _ if self.ours => outcome_of(self.status.as_u16()),
            true => Outcome::BackendError,
            false => Outcome::Ok,
        };
        self.close(outcome, now);
    }

    /// Ends it and gives everything back.
    pub(crate) fn end(mut self, outcome: Outcome) {
        self.close(outcome, self.arrival.clock.now());
    }

    /// Ends it with an answer of ours in place of the backend's.
    pub(crate) fn refuse(mut self, refusal: &Refusal) {
        self.status = refusal.status;
        self.end(refusal.outcome);
    }

    fn close(&mut self, outcome: Outcome, now: Moment) {
        if self.arrival.open {
            self.arrival.end(End {
                outcome,
                status: Some(self.status),
                sent: Some(self.sent),
                at: now,
            });
            let ongoing = self.arrival.ongoing();
            let tally = &ongoing.deployment.tally;
            tally.inference.observe(now.since(self.sent));
            if outcome == Outcome::Ok {
                tally.served(ongoing.tier(), self.backend.found(), now.since(self.sent));
                self.backend.answered_at(now);
            } else {
                self.backend.ended_at(now);
            }
        }
    }
}

impl Drop for Settlement {
    fn drop(&mut self) {
        if self.arrival.open {
            self.close(self.arrival.dropped(), self.arrival.clock.now());
        }
    }
}
