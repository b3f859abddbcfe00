use std::time::Duration;

use thermocline_policy::{CostModel, Hindsight, Moment, Shadow, Tier, TierSet};

/// The offline optimum of one deployment, arrival by arrival as they come.
#[derive(Debug, Clone)]
pub(crate) struct Optimum {
    model: CostModel,
    last: Moment,
    shadow: Shadow,
    hindsight: Hindsight,
}

impl Optimum {
    pub(crate) fn new(model: &CostModel) -> Self {
        Optimum {
            model: *model,
            last: Moment::ORIGIN,
            shadow: Shadow::booting_from(Moment::ORIGIN),
            hindsight: Hindsight::new(Moment::ORIGIN),
        }
    }

    pub(crate) fn arrive(&mut self, now: Moment, service: Duration) {
        if now > self.last {
            self.advance_to(now);
        }
        self.shadow.take(now, service, &self.model);
    }

    /// What came at the last moment is over, and time passes until `now`.
    pub(crate) fn advance_to(&mut self, now: Moment) {
        let span = now.since(self.last);
        let cost = self.shadow.end_slot(span, &self.model);
        self.hindsight.advance(cost, span, &self.model);
        self.last = now;
    }

    /// The least possible with `tiers`, given that each of `done` was: dollars.
    pub(crate) fn least(&self, tiers: TierSet, done: impl IntoIterator<Item = f64>) -> f64 {
        if !tiers.has(Tier::Pod) {
            return self.hindsight.serverless_alone();
        }
        let mut hindsight = self.hindsight.clone();
        done.into_iter().for_each(|usd| hindsight.was_possible(usd));
        hindsight.least()
    }
}
