//! What one slot of load counted.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::fault::Fault;
use crate::histogram::Histogram;

/// The figures of one slot; goes from the load process to its parent as JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Requests answered whole with status 200 and the body asked for.
    pub requests: u64,
    /// From the slot's begin to its last answer, nanoseconds.
    pub elapsed_nanos: u64,
    /// From a request's first byte out to its answer's last byte in, nanoseconds.
    pub latency: Histogram,
    /// From an event's writing to its arrival, nanoseconds.
    pub lateness: Histogram,
    /// Requests that do not count, by what was wrong.
    pub faults: BTreeMap<String, u64>,
}

impl Tally {
    /// Counts one good answer and the lateness of its events.
    pub(crate) fn answer(&mut self, latency: Duration, lateness: &[u64]) {
        self.requests += 1;
        self.latency.record(crate::time::whole_nanos(latency));
        lateness
            .iter()
            .for_each(|nanos| self.lateness.record(*nanos));
    }

    /// Counts one request that failed.
    pub(crate) fn fault(&mut self, fault: &Fault) {
        *self.faults.entry(fault.to_string()).or_default() += 1;
    }

    /// Adds everything that another slot counted.
    pub(crate) fn merge(&mut self, other: &Tally) {
        self.requests += other.requests;
        self.elapsed_nanos += other.elapsed_nanos;
        self.latency.merge(&other.latency);
        self.lateness.merge(&other.lateness);
        for (what, count) in &other.faults {
            *self.faults.entry(what.clone()).or_default() += count;
        }
    }

    /// Good answers per second.
    pub fn rate(&self) -> f64 {
        self.requests as f64 / Duration::from_nanos(self.elapsed_nanos.max(1)).as_secs_f64()
    }

    /// Requests that failed, whatever the cause.
    pub fn failures(&self) -> u64 {
        self.faults.values().sum()
    }
}
