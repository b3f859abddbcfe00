//! The shared fleet: what REST and metrics show of it, and its own pods.

mod pool;
mod steer;
mod throughput;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use thermocline_policy::Spec;
use thermocline_provider::fleet::{SeenQueue, SeenWorker, SharedFleet};
use thermocline_wire::fleet::WorkerState;

use crate::control::ControlPlane;
use crate::dead_letters::DeadLetterSettings;
use crate::launch::fleet_request;
pub use pool::PoolSettings;
pub(crate) use pool::{PodLimits, Pool};
pub(crate) use steer::{is_handed_over, work_in_hand};

/// A shared fleet, and what the control plane does for it.
pub struct FleetParts {
    /// The fleet as its gateway sees it.
    pub shared: Arc<dyn SharedFleet>,
    /// What is kept of its dead letters.
    pub dead_letters: DeadLetterSettings,
    /// The deployment whose pods are workers.
    pub pool: Option<PoolSettings>,
}

/// The shared fleet of this server.
pub(crate) struct Fleet {
    /// The fleet as its gateway sees it.
    pub(crate) shared: Arc<dyn SharedFleet>,
    /// Its own pods.
    pub(crate) pool: Option<Pool>,
}

impl ControlPlane {
    /// The workers that reported lately, by name.
    pub(crate) fn workers(&self) -> Vec<SeenWorker> {
        let fleet = self.fleet.as_ref();
        fleet.map(|it| it.shared.workers()).unwrap_or_default()
    }

    /// The queues of the fleet, by deployment.
    pub(crate) fn queues(&self) -> Vec<SeenQueue> {
        let fleet = self.fleet.as_ref();
        fleet.map(|it| it.shared.queues()).unwrap_or_default()
    }

    /// The queues as REST shows them.
    pub(crate) fn queues_json(&self) -> Vec<Value> {
        let shown = |fleet: &Fleet| {
            let queues = fleet.shared.queues();
            queues.iter().map(|it| queue_json(it, fleet)).collect()
        };
        self.fleet.as_ref().map(shown).unwrap_or_default()
    }

    /// Why the fleet could not serve what `spec` asks of it, if it does.
    pub(crate) fn unserved(&self, spec: &Spec) -> Option<String> {
        let (fleet, asked) = (self.fleet.as_ref()?, fleet_request(spec)?);
        fleet.shared.unserved(&spec.name, &asked.terms)
    }
}

/// Jobs in hand ÷ jobs that may be, over `workers`; `None` where none may be.
pub(crate) fn utilisation(workers: &[SeenWorker]) -> Option<f64> {
    // Whom no gateway knows can take no job, however free.
    let known = |worker: &&SeenWorker| worker.report.state != WorkerState::Barred;
    let sum = |of: fn(&SeenWorker) -> u32| {
        let known = workers.iter().filter(known);
        known.map(|worker| f64::from(of(worker))).sum::<f64>()
    };
    let permits = sum(|worker| worker.report.permits);
    (permits > 0.0).then(|| sum(|worker| worker.report.in_flight) / permits)
}

/// A worker by its last report.
pub(crate) fn worker_json(worker: &SeenWorker) -> Value {
    let report = &worker.report;
    json!({
        "name": report.worker,
        "incarnation": report.incarnation,
        "state": report.state,
        "shape": report.shape,
        "age_s": seconds(worker.age),
        "permits": report.permits,
        "in_flight": report.in_flight,
        "memory_mib": report.memory_mib,
        "free_mib": report.free_mib,
        "resident": report.resident.iter().map(resident_json).collect::<Vec<_>>(),
        "subscribed": report.subscribed,
        "loads": report.loads,
        "evictions": report.evictions,
        "jobs": report.jobs,
        "load_rate": report.load_rate,
    })
}

fn resident_json(model: &thermocline_wire::fleet::Resident) -> Value {
    json!({
        "deployment": model.deployment,
        "memory_mib": model.memory_mib,
        "in_flight": model.in_flight,
        "idle_s": seconds(Duration::from_millis(model.idle_ms)),
        "load_s": seconds(Duration::from_millis(model.load_ms)),
        "loading": model.loading,
    })
}

/// A deployment's queue.
fn queue_json(queue: &SeenQueue, fleet: &Fleet) -> Value {
    json!({
        "deployment": queue.deployment,
        "waiting": queue.waiting,
        "oldest_s": seconds(queue.oldest),
        "running": queue.running,
        "served_by": queue.served_by,
        "held_by": queue.held_by,
        "terms": queue.terms,
        "unserved": fleet.shared.unserved(&queue.deployment, &queue.terms),
    })
}

/// With a millisecond's resolution.
fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000.0).round() / 1_000.0
}
