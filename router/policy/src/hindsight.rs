//! The cheapest that could have been done, had everything been known.

use std::collections::VecDeque;
use std::time::Duration;

use crate::{CostModel, Moment, SlotCost};

/// The offline optimum by dynamic programming, for one pod, beside what either
/// tier alone would have cost.
///
/// All three pay by the same rules: a pod from the wish for it on, its boot
/// included, while serverless serves; what the pod has no place for, on
/// serverless; worker time as metered. The optimum stops a pod as soon as the last
/// request that it is good for has ended.
///
/// With V the least cost so far, by the state after the arrivals of a moment:
/// V_P = min(V_P + machine, V_S(t − B) + boot) + spill and
/// V_S = min(V_S + a, V_P + last work).
/// The boot is a delay line of what changed within one boot, to a thousandth of
/// it, so memory does not grow with the arrivals.
#[derive(Debug, Clone)]
pub struct Hindsight {
    now: Moment,
    /// All on serverless, dollars: what the optimum is counted from.
    serverless: f64,
    /// One pod, kept from the beginning, dollars.
    pod: f64,
    /// What it will cost until the work in its hand has ended, dollars.
    pod_last_work: f64,
    /// The optimum that ends without a pod, less `serverless`; never above 0.
    without: f64,
    /// The optimum that ends with a pod, less `serverless`.
    with: f64,
    /// From when on `without` was what: where a boot may begin.
    begins: VecDeque<(Moment, f64)>,
}

/// Into how many parts a boot is divided: changes within one of them are one, as
/// of its beginning, so a lower bound stays one.
const PARTS_OF_BOOT: u32 = 1024;

/// What the same arrivals have cost so far, dollars.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SoFar {
    /// All on serverless.
    pub serverless: f64,
    /// With one pod, kept from the beginning.
    pub pod: f64,
    /// At best.
    pub least: f64,
}

impl Hindsight {
    /// Begins at `now` without a pod. The costs must come from a
    /// [`Shadow`](crate::Shadow) whose pod boots from then on.
    pub fn new(now: Moment) -> Self {
        Hindsight {
            now,
            serverless: 0.0,
            pod: 0.0,
            pod_last_work: 0.0,
            without: 0.0,
            with: f64::INFINITY,
            begins: VecDeque::from([(now, 0.0)]),
        }
    }

    /// Goes on at `now` with what was counted before: whoever has a pod then has
    /// paid for it from the beginning. The costs must come from a
    /// [`Shadow`](crate::Shadow) whose pod is there.
    pub fn resumed(now: Moment, so_far: SoFar) -> Self {
        let without = so_far.least - so_far.serverless;
        Hindsight {
            serverless: so_far.serverless,
            pod: so_far.pod,
            without,
            with: so_far.pod - so_far.serverless,
            begins: VecDeque::from([(now, without)]),
            ..Hindsight::new(now)
        }
    }

    /// Arrivals come now that cost `cost` on either tier; then `span` goes by,
    /// for which the machine of `cost` is paid.
    pub fn advance(&mut self, cost: SlotCost, span: Duration, model: &CostModel) {
        self.pod += cost.pod();
        let last_work = self.pod_last_work.max(cost.last_work);
        self.pod_last_work = (last_work - cost.machine).max(0.0);
        let with = self.with.min(self.booted(model)) + cost.spill - cost.serverless;
        self.serverless += cost.serverless;
        self.without = self.without.min(with + cost.last_work);
        self.with = with + cost.machine;
        self.keep_begin(model.work.boot / PARTS_OF_BOOT);
        self.now = self.now + span;
    }

    /// What was really done since the beginning has cost `usd`. It was possible,
    /// so the optimum is no dearer.
    pub fn was_possible(&mut self, usd: f64) {
        self.without = self.without.min(usd - self.serverless);
    }

    /// The least for which a pod gets ready by now that was not before, less `serverless`.
    fn booted(&mut self, model: &CostModel) -> f64 {
        let by = self.now;
        let due = |at: Moment| at + model.work.boot <= by;
        while self.begins.get(1).is_some_and(|(at, _)| due(*at)) {
            self.begins.pop_front();
        }
        let begin = self.begins.front().filter(|(at, _)| due(*at));
        begin.map_or(f64::INFINITY, |(_, without)| without + model.boot_usd())
    }

    /// There is no pod, and a boot begins now at the earliest.
    pub(crate) fn may_begin(&mut self) {
        self.with = f64::INFINITY;
        self.begins = VecDeque::from([(self.now, self.without)]);
    }

    fn keep_begin(&mut self, part: Duration) {
        match self.begins.back_mut() {
            Some((at, without)) if self.now.since(*at) <= part => *without = self.without,
            Some((_, without)) if *without == self.without => {}
            _ => self.begins.push_back((self.now, self.without)),
        }
    }

    /// What all would have cost on serverless alone, dollars.
    pub fn serverless_alone(&self) -> f64 {
        self.serverless
    }

    /// What all would have cost with one pod from the beginning on, dollars.
    pub fn pod_alone(&self) -> f64 {
        self.pod + self.pod_last_work
    }

    /// The least that all could have cost, dollars; not above either alone, nor
    /// above what was possible.
    pub fn least(&self) -> f64 {
        (self.serverless + self.without)
            .min(self.pod_alone())
            .max(0.0)
    }
}

#[cfg(test)]
mod tests;
