//! The best possible for arrivals, told as they come.

use std::time::Duration;

use crate::{CostModel, Count, Hindsight, Moment, Shadow, SoFar};

/// What arrivals cost on either tier alone and at best: a [`Shadow`] and a
/// [`Hindsight`] that go from arrival to arrival.
///
/// The live system and replays use it alike, so the same arrivals come out the same.
#[derive(Debug, Clone)]
pub struct Optimum {
    /// Until when everything is counted.
    counted: Moment,
    /// Whether nothing has come yet.
    waits: bool,
    shadow: Shadow,
    hindsight: Hindsight,
}

impl Optimum {
    /// Nothing has come by `now`. A pod alone is wished for now, the optimum's
    /// with the first arrival at the earliest.
    pub fn new(now: Moment) -> Self {
        Optimum {
            counted: now,
            waits: true,
            shadow: Shadow::booting_from(now),
            hindsight: Hindsight::new(now),
        }
    }

    /// Goes on at `now` with what was counted before: the pod of who has only
    /// pods is there.
    pub fn resumed(now: Moment, so_far: SoFar) -> Self {
        Optimum {
            counted: now,
            waits: false,
            shadow: Shadow::default(),
            hindsight: Hindsight::resumed(now, so_far),
        }
    }

    /// One request that arrives at `now` (never before the last) and takes `service`
    /// on serverless, and on a pod in proportion.
    pub fn take(&mut self, now: Moment, service: Duration, model: &CostModel) {
        self.begin_to_serve(now, model);
        self.shadow.take(now, service, model);
    }

    /// What was counted, never before the last. A flood counts as one arrival that
    /// lasts for its span.
    pub fn count(&mut self, count: &Count, model: &CostModel) {
        if count.is_flood() {
            self.begin_to_serve(count.start, model);
            return self.shadow.count(count, model);
        }
        for at in count.evenly() {
            self.take(at, model.work.service, model);
        }
        if count.in_hand > 0 {
            self.begin_to_serve(count.end(), model);
            self.shadow.hold(count, model);
        }
    }

    /// The same, left out of what is compared: only what it leaves behind, as warm
    /// workers, is kept.
    pub fn leave_out(&mut self, count: &Count, model: &CostModel) {
        self.shadow.count(count, model);
        self.pass_over(count.end(), model);
    }

    /// Nothing is compared until `now`.
    pub fn pass_over(&mut self, now: Moment, model: &CostModel) {
        self.shadow.end_slot(Duration::ZERO, model);
        self.counted = self.counted.max(now);
    }

    /// What came at the last moment is over, and time passes until `now`.
    pub fn advance_to(&mut self, now: Moment, model: &CostModel) {
        let span = now.since(self.counted);
        let cost = self.shadow.end_slot(span, model);
        self.hindsight.advance(cost, span, model);
        self.counted = self.counted.max(now);
    }

    /// What all of it has cost so far, and would have.
    pub fn hindsight(&self) -> &Hindsight {
        &self.hindsight
    }

    /// What was really done since the beginning has cost `usd`, and so was possible.
    pub fn was_possible(&mut self, usd: f64) {
        self.hindsight.was_possible(usd);
    }

    fn begin_to_serve(&mut self, now: Moment, model: &CostModel) {
        if now > self.counted {
            self.advance_to(now, model);
        }
        if std::mem::take(&mut self.waits) {
            self.hindsight.may_begin();
        }
    }
}
