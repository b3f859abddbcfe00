//! How many workers there should be, and what a new one loads first.
//!
//! A backlog is honest but late: as long as warm workers keep up it reads zero,
//! at 5 % as at 95 % of what they can do. So utilisation leads, and a floor
//! bears what comes before anything can start.

mod prewarm;
mod stabiliser;

use std::time::Duration;

pub use self::prewarm::{Prewarm, prewarm};
pub use self::stabiliser::Stabiliser;

/// The workers of one shape and their work. Shapes are scaled apart.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PoolView {
    /// Jobs of their shape that nobody has claimed, over all queues.
    pub waiting: u64,
    /// Jobs that they run.
    pub in_flight: u32,
    /// Jobs that they may run at a time.
    pub permits: u32,
    /// Workers that take jobs.
    pub ready: u32,
    /// Workers that start.
    pub starting: u32,
    /// Jobs that they finish a second, lately.
    pub finished_per_s: f64,
}

impl PoolView {
    /// In-flight ÷ permits, from 0; 1 when there is work and no permit.
    pub fn utilisation(&self) -> f64 {
        match (self.permits, self.in_flight) {
            (0, 0) => 0.0,
            (0, _) => 1.0,
            (permits, in_flight) => f64::from(in_flight) / f64::from(permits),
        }
    }

    /// Seconds that a job takes, by Little's law: in-flight ÷ throughput.
    fn service(&self, assumed: Duration) -> f64 {
        if self.finished_per_s > 0.0 && self.in_flight > 0 {
            f64::from(self.in_flight) / self.finished_per_s
        } else {
            assumed.as_secs_f64()
        }
    }

    fn permits_each(&self, assumed: u32) -> f64 {
        let measured = f64::from(self.permits) / f64::from(self.ready.max(1));
        if self.ready > 0 && measured > 0.0 {
            measured
        } else {
            f64::from(assumed.max(1))
        }
    }
}

/// How a pool of workers is scaled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolTerms {
    /// Workers that are always there: they bear a step until others have started.
    pub floor: u32,
    /// The most workers; no wish exceeds it, the floor included.
    pub ceiling: u32,
    /// GPUs that the pool may hold in all; `None` = no limit but `ceiling`.
    pub gpu_budget: Option<u32>,
    /// GPUs of one worker.
    pub gpus_each: u32,
    /// The utilisation aimed at; above 0, at most 1.
    pub target: f64,
    /// No change while utilisation is this close to the target, as a part of it.
    pub tolerance: f64,
    /// In what time a backlog should be worked off; above 0.
    pub clear_within: Duration,
    /// Permits of a worker as long as none is there to tell.
    pub permits_each: u32,
    /// What a job takes as long as nothing has been measured.
    pub service: Duration,
}

impl Default for PoolTerms {
    fn default() -> Self {
        PoolTerms {
            floor: 1,
            ceiling: 1,
            gpu_budget: None,
            gpus_each: 1,
            target: 0.7,
            tolerance: 0.1,
            clear_within: Duration::from_secs(30),
            permits_each: 1,
            service: Duration::from_secs(1),
        }
    }
}

impl PoolTerms {
    /// The most workers that ceiling and GPU budget allow.
    pub fn most(&self) -> u32 {
        let afforded = self.gpu_budget.map(|budget| budget / self.gpus_each.max(1));
        self.ceiling.min(afforded.unwrap_or(u32::MAX))
    }
}

/// How many workers the pool should have by what is seen now, before a
/// [`Stabiliser`] damps it.
///
/// What runs needs `in-flight ÷ target` permits, and the backlog
/// `waiting × service time ÷ clear_within` more. Both count together: a worker
/// that is busy works off nothing.
pub fn workers_wanted(view: &PoolView, terms: &PoolTerms) -> u32 {
    let target = terms.target.clamp(0.01, 1.0);
    let within = terms.clear_within.as_secs_f64().max(0.001);
    let backlog = view.waiting as f64 * view.service(terms.service) / within;
    let running = f64::from(view.in_flight) / target;
    let there = view.ready.saturating_add(view.starting);
    let deviation = (view.utilisation() / target - 1.0).abs();
    let wanted = if view.waiting == 0 && view.ready > 0 && deviation <= terms.tolerance {
        there
    } else {
        ((running + backlog) / view.permits_each(terms.permits_each)).ceil() as u32
    };
    let least = if view.waiting > 0 {
        terms.floor.max(1)
    } else {
        terms.floor
    };
    wanted.max(least).min(terms.most())
}

#[cfg(test)]
mod tests;
