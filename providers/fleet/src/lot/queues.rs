use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::Moment;

use crate::parked::Parked;

/// What of each deployment waits, and what runs.
#[derive(Default)]
pub(super) struct Queues {
    by_deployment: HashMap<Arc<str>, Queue>,
    running: u64,
}

#[derive(Default)]
struct Queue {
    /// Those that no worker has claimed, oldest first.
    waiting: BTreeSet<(Moment, String)>,
    running: u32,
}

/// How a queue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Standing {
    pub(crate) waiting: u32,
    /// How long the oldest has waited.
    pub(crate) oldest: Duration,
    pub(crate) running: u32,
}

impl Queues {
    /// A request waits.
    pub(super) fn wait(&mut self, parked: &Parked) {
        let queue = self.by_deployment.entry(parked.deployment.clone());
        queue.or_default().waiting.insert(place(parked));
    }

    /// One that waited is run.
    pub(super) fn run(&mut self, parked: &Parked) {
        let queue = self
            .by_deployment
            .entry(parked.deployment.clone())
            .or_default();
        if queue.waiting.remove(&place(parked)) {
            queue.running += 1;
            self.running += 1;
        }
    }

    /// One that was run waits again.
    pub(super) fn wait_again(&mut self, parked: &Parked) {
        self.stop_running(parked);
        self.wait(parked);
    }

    /// One is gone.
    pub(super) fn leave(&mut self, parked: &Parked) {
        let queue = self.by_deployment.get_mut(&parked.deployment);
        if !queue.is_some_and(|queue| queue.waiting.remove(&place(parked))) {
            self.stop_running(parked);
        }
        let idle = |queue: &Queue| queue.waiting.is_empty() && queue.running == 0;
        if self.by_deployment.get(&parked.deployment).is_some_and(idle) {
            self.by_deployment.remove(&parked.deployment);
        }
    }

    fn stop_running(&mut self, parked: &Parked) {
        if let Some(queue) = self.by_deployment.get_mut(&parked.deployment) {
            queue.running -= 1;
            self.running -= 1;
        }
    }

    /// Whether nothing of `deployment` is parked.
    pub(super) fn is_idle(&self, deployment: &str) -> bool {
        !self.by_deployment.contains_key(deployment)
    }

    pub(super) fn running(&self) -> u64 {
        self.running
    }

    pub(super) fn standings(&self, now: Moment) -> HashMap<Arc<str>, Standing> {
        let standing = |queue: &Queue| Standing {
            waiting: u32::try_from(queue.waiting.len()).unwrap_or(u32::MAX),
            oldest: queue
                .waiting
                .first()
                .map_or(Duration::ZERO, |(since, _)| now.since(*since)),
            running: queue.running,
        };
        let queues = self.by_deployment.iter();
        queues
            .map(|(name, queue)| (name.clone(), standing(queue)))
            .collect()
    }
}

fn place(parked: &Parked) -> (Moment, String) {
    (parked.arrived, parked.id.clone())
}
