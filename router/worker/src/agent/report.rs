//! What this worker says of itself.

use std::sync::atomic::Ordering;
use std::time::Duration;

use thermocline_broker::Topic;
use thermocline_policy::fleet::{Mib, Peer};
use thermocline_wire::fleet::{Report, WorkerState};

use super::{Agent, Phase};
use crate::trouble::Trouble;
use crate::{Memory, Settings, peers};

/// Reports that may be lost before a worker counts as gone.
const SPARE: u32 = 4;
/// Changes closer than this travel in one report.
const SETTLE: Duration = Duration::from_millis(50);

/// What was reported last.
pub(super) struct Reporting {
    sequence: u64,
    /// As others know this worker.
    pub(super) peer: Peer,
    incarnation: String,
    subscribed: Vec<String>,
    state: WorkerState,
    trouble: Trouble,
}

impl Reporting {
    pub(super) fn new(settings: &Settings, incarnation: &str, memory: &dyn Memory) -> Self {
        let total: Mib = memory.devices().iter().map(|device| device.total).sum();
        let peer = Peer {
            id: thermocline_policy::fleet::Identity::of(&settings.name),
            shape: settings.shape,
            memory: total,
            free: total,
            busy: false,
        };
        Reporting {
            sequence: 0,
            peer,
            incarnation: incarnation.to_owned(),
            subscribed: Vec::new(),
            state: WorkerState::Down,
            trouble: Trouble::default(),
        }
    }
}

impl Agent {
    /// Reports, in a task: the broker may be slow.
    pub(super) fn report_now(&mut self) {
        let now = self.clock.now();
        self.next_report = now + self.settings.report_every;
        let body = self.next_body();
        let (broker, trouble) = (self.broker.clone(), self.report.trouble.clone());
        self.tasks.spawn(async move {
            let told = broker.announce(Topic::Report, body.into()).await;
            match told {
                Err(error) if trouble.begins() => {
                    tracing::warn!(%error, "this worker cannot report itself");
                }
                Ok(()) if trouble.ends() => tracing::info!("this worker reports itself again"),
                _ => {}
            }
        });
    }

    /// Reports soon, when what others decide by has changed.
    pub(super) fn report_changes(&mut self) {
        let state = self.worker_state();
        self.state
            .send_if_modified(|told| std::mem::replace(told, state) != state);
        let served = self.served.keys().filter(|queue| self.holds(queue));
        let changed = state != self.report.state || !served.eq(&self.report.subscribed);
        if changed {
            self.next_report = self.next_report.min(self.clock.now() + SETTLE);
        }
    }

    /// That it has nothing in hand any more.
    pub(super) async fn announce_state(&mut self) {
        let body = self.next_body();
        let _nobody_needs_it = self.broker.announce(Topic::Report, body.into()).await;
    }

    /// The last word: it is gone, so others need not wait until it has been silent for long.
    pub(super) async fn announce_end(&mut self) {
        let last = Report {
            valid_ms: 0,
            resident: Vec::new(),
            subscribed: Vec::new(),
            ..self.next_report()
        };
        let body = serde_json::to_vec(&last).unwrap_or_default();
        let _nobody_needs_it = self.broker.announce(Topic::Report, body.into()).await;
    }

    fn next_body(&mut self) -> Vec<u8> {
        let report = self.next_report();
        self.report.peer = peers::peer(&report);
        serde_json::to_vec(&report).unwrap_or_default()
    }

    fn next_report(&mut self) -> Report {
        self.report.sequence += 1;
        self.report.state = self.worker_state();
        let served = self.served.keys().filter(|queue| self.holds(queue));
        self.report.subscribed = served.cloned().collect();
        self.report()
    }

    fn report(&mut self) -> Report {
        let now = self.clock.now();
        let devices = self.memory.devices();
        let total: u64 = devices.iter().map(|device| device.total.0).sum();
        let free = total.saturating_sub(self.residents.taken_mib());
        let read: Option<u64> = devices
            .iter()
            .map(|device| device.free.map(|mib| mib.0))
            .sum();
        let valid = self.settings.report_every * SPARE;
        Report {
            worker: self.settings.name.clone(),
            incarnation: self.report.incarnation.clone(),
            sequence: self.report.sequence,
            valid_ms: u64::try_from(valid.as_millis()).unwrap_or(u64::MAX),
            state: self.report.state,
            shape: self.settings.shape.into(),
            permits: self.settings.permits,
            in_flight: self.in_flight(),
            memory_mib: total,
            free_mib: read.map_or(free, |read| read.min(free)),
            devices_mib: devices.iter().map(|device| device.total.0).collect(),
            pinned_mib: self.pinned().into_iter().map(|mib| mib.0).collect(),
            resident: self.residents.report(self.settings.eviction.half_life, now),
            subscribed: self.report.subscribed.clone(),
            may_pull: self.access.may_pull(),
            loads: self.residents.loads,
            evictions: self.residents.evictions,
            jobs: self.bench.runs.load(Ordering::Relaxed),
            load_rate: self.residents.load_rate(now),
        }
    }

    fn in_flight(&self) -> u32 {
        let free = u32::try_from(self.permits().available_permits()).unwrap_or(u32::MAX);
        self.settings.permits.saturating_sub(free)
    }

    fn worker_state(&self) -> WorkerState {
        match self.phase {
            Phase::Taking if self.residents.loading() => WorkerState::Loading,
            Phase::Taking => WorkerState::Ready,
            Phase::Down => WorkerState::Down,
            Phase::Barred => WorkerState::Barred,
            Phase::Resting | Phase::Draining => WorkerState::Draining,
        }
    }
}
