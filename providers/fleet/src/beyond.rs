//! Whether any worker could ever hold a model, by what workers say of themselves.

use std::time::Duration;

use thermocline_policy::fleet::{Beyond, Candidate, Mib, beyond};
use thermocline_policy::{Moment, format_duration};
use thermocline_wire::fleet::{Report, Terms, WorkerState, allows};

use crate::excuse::Excuse;
use crate::hub::Hub;

/// How long one must have listened to know which workers there are: they report
/// every other second.
const KNOWN_AFTER: Duration = Duration::from_secs(10);
/// How long after its last report a worker may come back: it is restarted.
const RESTART: Duration = Duration::from_secs(60);

impl Hub {
    /// Why no worker that is there could hold `deployment`, for people.
    pub(crate) fn unserved(&self, deployment: &str, terms: &Terms, now: Moment) -> Option<String> {
        let sightings = self.sightings();
        if sightings.listened(now) < KNOWN_AFTER {
            return None;
        }
        let there = sightings.workers(now);
        let there = there.iter().map(|seen| candidate(&seen.report, deployment));
        let there: Vec<Candidate> = there.collect();
        match beyond(&terms.into(), &there)? {
            // They come when they are wanted.
            Beyond::NoWorker if self.settings.pool => None,
            Beyond::NoWorker => Some(silence(sightings.silence(now))),
            other => Some(other.to_string()),
        }
    }

    /// Whether waiting for a worker is in vain: some are there, and neither they
    /// nor those that were there a moment ago could ever hold `deployment`.
    pub(crate) fn is_beyond(&self, deployment: &str, now: Moment) -> bool {
        let Some(model) = self.deployments().model(deployment) else {
            return false;
        };
        let sightings = self.sightings();
        let is_known = sightings.listened(now) >= KNOWN_AFTER && !self.settings.pool;
        if !is_known || !sightings.is_anybody(now) {
            return false;
        }
        let heard = sightings.heard_within(RESTART, now);
        // Whose token is not known may be let in by what is put right there.
        let heard = heard.map(|report| Candidate {
            known: true,
            ..candidate(report, deployment)
        });
        let heard: Vec<Candidate> = heard.collect();
        beyond(&(&model.terms).into(), &heard).is_some()
    }
}

impl Hub {
    /// Tells those that wait in vain, by what is known now: it may not have been
    /// when they came.
    pub(crate) fn give_up_beyond(&self, now: Moment) {
        let standings = self.lot().standings(now);
        let waiting = standings.iter().filter(|(_, queue)| queue.waiting > 0);
        for (deployment, _) in waiting.filter(|(name, _)| self.is_beyond(name, now)) {
            self.lot().excuse_waiting(deployment, Excuse::NoWorker);
        }
    }

    /// Tells those of `deployment`, which is on its way out, that would need a
    /// worker to load its model first.
    pub(crate) fn give_up_cold(&self, deployment: &str, now: Moment) {
        if !self.sightings().is_loaded(deployment, now) {
            let why = Excuse::Withdrawn;
            self.lot().excuse_waiting(deployment, why);
        }
    }
}

fn candidate(report: &Report, deployment: &str) -> Candidate {
    let may_pull = report.may_pull.as_ref();
    Candidate {
        known: report.state != WorkerState::Barred,
        may_pull: may_pull.is_none_or(|patterns| allows(patterns, deployment)),
        shape: report.shape.into(),
        devices: report.devices_mib.iter().copied().map(Mib).collect(),
        memory: Mib(report.memory_mib),
        pinned: report.pinned_mib.iter().copied().map(Mib).collect(),
        holds: report.resident.iter().any(|it| it.deployment == deployment),
    }
}

fn silence(since: Option<Duration>) -> String {
    match since {
        None => "no worker of the fleet has reported yet".to_owned(),
        Some(since) => {
            let seconds = Duration::from_secs(since.as_secs());
            let since = format_duration(seconds);
            format!("no worker of the fleet has reported for {since}")
        }
    }
}
