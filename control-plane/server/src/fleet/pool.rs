//! How many of the fleet's own pods there should be, and which may go.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_policy::fleet::{PoolTerms, PoolView, Stabiliser, workers_wanted};
use thermocline_provider::fleet::{SeenQueue, SeenWorker, SharedFleet};
use thermocline_wire::fleet::{Shape, WorkerState};

use super::throughput::Throughput;

/// The deployment whose pods are workers, and how many there should be of them.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolSettings {
    /// The deployment's name.
    pub deployment: String,
    /// The utilisation aimed at; above 0, at most 1.
    pub target: f64,
    /// In what time a backlog should be worked off; above 0.
    pub clear_within: Duration,
    /// For how long fewer workers must be enough before one goes.
    pub down_after: Duration,
    /// GPUs that its pods may hold in all.
    pub gpu_budget: Option<u32>,
}

impl PoolSettings {
    /// The usual ones for `deployment`.
    pub fn of(deployment: &str) -> Self {
        let terms = PoolTerms::default();
        PoolSettings {
            deployment: deployment.to_owned(),
            target: terms.target,
            clear_within: terms.clear_within,
            down_after: Duration::from_secs(300),
            gpu_budget: None,
        }
    }
}

/// What the specification says of the pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PodLimits {
    /// Never fewer than these.
    pub(crate) min: u32,
    /// Never more than these.
    pub(crate) max: u32,
    /// GPUs of each.
    pub(crate) gpus: u32,
}

/// The pool's own workers, by name.
pub(crate) struct Own {
    /// Those that start or are ready.
    pub(crate) up: Vec<String>,
    /// Those that are on their way out; they count for nothing.
    pub(crate) leaving: Vec<String>,
}

/// The pool and what was wanted of it lately.
pub(crate) struct Pool {
    settings: PoolSettings,
    lately: Mutex<Lately>,
}

struct Lately {
    stabiliser: Stabiliser,
    throughput: Throughput,
}

impl Pool {
    pub(crate) fn new(settings: PoolSettings) -> Self {
        let lately = Lately {
            stabiliser: Stabiliser::new(settings.down_after),
            throughput: Throughput::default(),
        };
        Pool {
            settings,
            lately: Mutex::new(lately),
        }
    }

    /// The deployment's name.
    pub(crate) fn deployment(&self) -> &str {
        &self.settings.deployment
    }

    /// How many pods there should be, where `own` are there.
    ///
    /// The wish is for the whole fleet; workers that are not ours to start
    /// count towards it.
    pub(crate) fn wanted(
        &self,
        fleet: &dyn SharedFleet,
        own: &Own,
        limits: PodLimits,
        now: Moment,
    ) -> u32 {
        let shape = match limits.gpus {
            0 => Shape::Cpu,
            _ => Shape::Gpu,
        };
        let (workers, queues) = (fleet.workers(), fleet.queues());
        let stays =
            |w: &&SeenWorker| takes_jobs(w, shape) && !own.leaving.contains(&w.report.worker);
        let at_work = || workers.iter().filter(stays);
        let others = at_work().filter(|w| !own.up.contains(&w.report.worker));
        let others = u32::try_from(others.count()).unwrap_or(u32::MAX);
        let mut lately = self.lately();
        let finished_per_s = lately.throughput.of(at_work(), now);
        let view = PoolView {
            finished_per_s,
            ..view(at_work(), &queues, &own.up, shape)
        };
        let terms = self.terms(limits, others);
        let wish = workers_wanted(&view, &terms);
        let pods = wish.saturating_sub(others);
        let up = u32::try_from(own.up.len()).unwrap_or(u32::MAX);
        // What budget and ceiling allow bounds the minimum too.
        let most = terms.most().saturating_sub(others);
        lately.stabiliser.settle(pods, up, now).min(most)
    }

    fn terms(&self, limits: PodLimits, others: u32) -> PoolTerms {
        let gpus_each = limits.gpus.max(1);
        // Others' GPUs are not ours to budget.
        let budget = |gpus: u32| gpus.saturating_add(others.saturating_mul(gpus_each));
        PoolTerms {
            floor: limits.min.saturating_add(others),
            ceiling: limits.max.saturating_add(others),
            gpu_budget: self
                .settings
                .gpu_budget
                .filter(|_| limits.gpus > 0)
                .map(budget),
            gpus_each,
            target: self.settings.target,
            clear_within: self.settings.clear_within,
            ..PoolTerms::default()
        }
    }

    fn lately(&self) -> MutexGuard<'_, Lately> {
        self.lately.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a worker has in hand.
pub(super) struct InHand {
    /// Jobs.
    pub(super) jobs: u32,
    /// Whether it takes no more.
    pub(super) drains: bool,
}

/// What each worker has in hand. One that has gone silent is missing: what it
/// may hold comes back to its queue.
pub(super) fn in_hand(fleet: &dyn SharedFleet) -> HashMap<String, InHand> {
    let reports = fleet.workers().into_iter().map(|worker| worker.report);
    reports
        .map(|report| {
            let in_hand = InHand {
                jobs: report.in_flight,
                drains: report.state == WorkerState::Draining,
            };
            (report.worker, in_hand)
        })
        .collect()
}

fn takes_jobs(worker: &SeenWorker, shape: Shape) -> bool {
    let state = worker.report.state;
    worker.report.shape == shape && matches!(state, WorkerState::Ready | WorkerState::Loading)
}

fn view<'w>(
    at_work: impl Iterator<Item = &'w SeenWorker>,
    queues: &[SeenQueue],
    up: &[String],
    shape: Shape,
) -> PoolView {
    let queues = queues.iter().filter(|queue| queue.terms.shape == shape);
    let mut view = PoolView {
        waiting: queues.map(|queue| u64::from(queue.waiting)).sum(),
        starting: u32::try_from(up.len()).unwrap_or(u32::MAX),
        ..PoolView::default()
    };
    for worker in at_work {
        view.ready += 1;
        view.in_flight += worker.report.in_flight;
        view.permits += worker.report.permits;
        if up.contains(&worker.report.worker) {
            view.starting = view.starting.saturating_sub(1);
        }
    }
    view
}
