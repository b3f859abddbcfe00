//! One target's slots in one scenario.

use std::time::Duration;

use crate::load::Tally;
use crate::process::Memory;
use crate::target::Target;

/// What one slot measured; the backend itself has no CPU or memory of interest.
pub(super) struct Slot {
    pub(super) tally: Tally,
    pub(super) cpu: Option<Duration>,
    pub(super) memory: Option<Memory>,
}

impl Slot {
    /// Good answers per second; none if there was none.
    pub(super) fn rate(&self) -> Option<f64> {
        (self.tally.requests > 0).then(|| self.tally.rate())
    }

    /// CPU microseconds per good answer.
    pub(super) fn cpu_micros(&self) -> Option<f64> {
        let micros = self.cpu?.as_secs_f64() * 1e6;
        (self.tally.requests > 0).then(|| micros / self.tally.requests as f64)
    }

    /// The slot's median latency, nanoseconds.
    pub(super) fn p50(&self) -> Option<f64> {
        self.tally.latency.quantile(0.5).map(|nanos| nanos as f64)
    }

    /// The slot's median lateness of events, nanoseconds.
    pub(super) fn lateness(&self) -> Option<f64> {
        self.tally.lateness.quantile(0.5).map(|nanos| nanos as f64)
    }
}

/// One number of a slot, none where it has no such.
pub(super) type Figure = fn(&Slot) -> Option<f64>;

/// The slots of a target, in the order of the rounds.
pub(super) struct Series {
    pub(super) target: Target,
    pub(super) slots: Vec<Slot>,
    /// All slots together, with the warm-up's failures.
    pub(super) sum: Tally,
    pub(super) peak: Option<Memory>,
}

impl Series {
    pub(super) fn new(target: Target) -> Self {
        Series {
            target,
            slots: Vec::new(),
            sum: Tally::default(),
            peak: None,
        }
    }

    pub(super) fn warmed(&mut self, tally: Tally) {
        self.sum.merge(&Tally {
            faults: tally.faults,
            ..Tally::default()
        });
    }

    pub(super) fn add(&mut self, slot: Slot) {
        self.sum.merge(&slot.tally);
        self.peak = match (self.peak, slot.memory) {
            (Some(peak), Some(memory)) => Some(peak.max(memory)),
            (peak, memory) => memory.or(peak),
        };
        self.slots.push(slot);
    }

    /// One figure of every slot.
    pub(super) fn each(&self, figure: Figure) -> Vec<Option<f64>> {
        self.slots.iter().map(figure).collect()
    }
}
