//! Where the reconciler asks how many workers there should be, and which may go.

use std::collections::HashMap;
use std::sync::Arc;

use thermocline_policy::{InstanceState, Moment, Tier};
use thermocline_provider::{InstanceRequest, Provider};
use thermocline_table::Config;

use super::pool::{InHand, Own, in_hand};
use super::{Fleet, FleetParts, PodLimits, Pool};
use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::instance::Instance;

/// What tells a worker its name.
const WORKER_NAME: &str = "THERMOCLINE_WORKER_NAME";

impl Fleet {
    pub(crate) fn new(parts: FleetParts) -> Self {
        Fleet {
            shared: parts.shared,
            pool: parts.pool.map(Pool::new),
        }
    }
}

/// The workers of a pool by name.
pub(crate) struct PoolWorkers(HashMap<String, InHand>);

impl PoolWorkers {
    /// Jobs that keep an instance from being stopped. One that is to drain is at
    /// work until its worker says that it takes no more.
    pub(crate) fn in_hand(&self, instance: &Instance) -> u32 {
        let draining = matches!(instance.state(), InstanceState::Draining { .. });
        match self.0.get(&worker_name(instance)) {
            None => 0,
            Some(worker) if draining && !worker.drains => worker.jobs.max(1),
            Some(worker) => worker.jobs,
        }
    }
}

/// What `instance` has in hand: a worker of the pool its jobs, all others their
/// requests.
pub(crate) fn work_in_hand(instance: &Instance, workers: Option<&PoolWorkers>) -> u32 {
    match workers {
        Some(workers) => workers.in_hand(instance),
        None => instance.backend().map_or(0, |backend| backend.in_flight()),
    }
}

/// Whether another instance of `all` does what `instance` has in hand, so that
/// it may go before that has ended.
pub(crate) fn is_handed_over(instance: &Instance, all: &[Arc<Instance>]) -> bool {
    let takes_over = |other: &Arc<Instance>| {
        other.id != instance.id
            && Arc::ptr_eq(&other.provider, &instance.provider)
            && other.state().is_ready()
    };
    instance.provider.adapter.hands_over() && all.iter().any(takes_over)
}

impl ControlPlane {
    /// Has the fleet end what nobody has begun and nobody would begin soon, where
    /// the last of the deployment's queues drains because it is not wanted any more.
    pub(crate) fn release_parked(&self, deployment: &Controlled, config: &Config) {
        let unwanted = config.deleting || config.stopped || config.spec.fleet().is_none();
        let instances = deployment.instances();
        let mut queues = instances
            .iter()
            .filter(|instance| instance.provider.adapter.hands_over());
        let last = unwanted && queues.all(|instance| !instance.state().is_ready());
        if let Some(fleet) = self.fleet.as_ref().filter(|_| last) {
            fleet.shared.release(&deployment.live.name);
        }
    }

    /// Whether the pods of `deployment` are workers of the fleet.
    pub(crate) fn is_pool(&self, deployment: &Controlled) -> bool {
        self.pool_of(deployment).is_some()
    }

    fn pool_of(&self, deployment: &Controlled) -> Option<(&Fleet, &Pool)> {
        let fleet = self.fleet.as_ref()?;
        let pool = fleet.pool.as_ref()?;
        (pool.deployment() == &*deployment.live.name).then_some((fleet, pool))
    }

    /// How many pods the fleet wishes of `deployment`, if they are its workers.
    pub(crate) fn workers_wanted(&self, deployment: &Controlled, now: Moment) -> Option<u32> {
        let (fleet, pool) = self.pool_of(deployment)?;
        let limits = deployment.with_spec(|spec| {
            Some(PodLimits {
                min: spec.min_instances(Tier::Pod),
                max: spec.max_instances(Tier::Pod)?,
                gpus: spec.resources.gpus,
            })
        })?;
        Some(pool.wanted(&*fleet.shared, &own(deployment), limits, now))
    }

    /// The workers of `deployment`, if its pods are some.
    pub(crate) fn workers_of(&self, deployment: &Controlled) -> Option<PoolWorkers> {
        let (fleet, _) = self.pool_of(deployment)?;
        Some(PoolWorkers(in_hand(&*fleet.shared)))
    }

    /// Tells the fleet which workers are to end what they have.
    pub(crate) fn drain_workers(&self, deployment: &Controlled) {
        if let Some((fleet, _)) = self.pool_of(deployment) {
            fleet.shared.drain(own(deployment).leaving);
        }
    }

    /// `request` with the name that the worker in `instance` goes by.
    pub(crate) fn named_worker(
        &self,
        deployment: &Controlled,
        instance: &Instance,
        mut request: InstanceRequest,
    ) -> InstanceRequest {
        if self.is_pool(deployment) {
            let name = worker_name(instance);
            request.env.insert(WORKER_NAME.to_owned(), name);
        }
        request
    }
}

/// What the worker in `instance` is called: its id, as a DNS label.
fn worker_name(instance: &Instance) -> String {
    instance.id.to_ascii_lowercase()
}

fn own(deployment: &Controlled) -> Own {
    let instances = deployment.instances().into_iter();
    let pods = instances.filter(|instance| instance.tier == Tier::Pod);
    let (up, leaving): (Vec<_>, Vec<_>) =
        pods.partition(|pod| pod.state().is_starting() || pod.state().is_ready());
    let names = |pods: Vec<Arc<Instance>>| pods.iter().map(|pod| worker_name(pod)).collect();
    Own {
        up: names(up),
        leaving: names(leaving),
    }
}
