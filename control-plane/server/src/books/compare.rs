mod opening;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use thermocline_policy::{CostModel, Count, Moment, Optimum, Prices, SoFar, UsdPerSecond};

use super::WhatIf;
use opening::Opening;

/// How long what has no price yet waits for one before it is left out.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was paid and would have been otherwise, since both tiers had a price.
#[derive(Debug)]
pub(super) struct Comparison {
    optimum: Optimum,
    /// What was costed with a boot that nobody had measured; `None` once one was.
    opening: Option<Opening>,
    /// What came while a tier has no price.
    unpriced: Vec<Count>,
    /// Since when nothing was compared, for want of a price.
    uncompared: Moment,
    /// What was handed out; sums never fall.
    told: WhatIf,
    /// Paid since then, and come.
    paid: f64,
    arrivals: i64,
}

impl Comparison {
    /// Nothing has come yet.
    pub(super) fn begin(now: Moment) -> Self {
        Comparison {
            optimum: Optimum::new(now),
            opening: Some(Opening::new(now, None)),
            unpriced: Vec::new(),
            uncompared: now,
            told: WhatIf::default(),
            paid: 0.0,
            arrivals: 0,
        }
    }

    /// Goes on with what earlier processes compared: the pod of who has only
    /// pods is there.
    pub(super) fn resume(&mut self, sums: WhatIf) {
        let so_far = SoFar {
            serverless: sums.serverless,
            pod: sums.pod,
            least: sums.optimum,
        };
        let opening = Opening::new(self.uncompared, Some(so_far));
        self.optimum = opening.begun();
        self.opening = Some(opening);
        self.told = sums;
    }

    /// What backends took in hand; never before the last.
    pub(super) fn count(&mut self, count: Count, model: &CostModel) {
        if count.requests > 0 || count.in_hand > 0 {
            self.unpriced.push(count);
        }
        if is_priced(model) {
            self.cost_unpriced(&money(model));
        }
    }

    /// A boot was measured: what was costed by an assumed one is costed again.
    pub(super) fn measured_boot(&mut self, boot: Duration) {
        if let Some(opening) = self.opening.take() {
            self.optimum = opening.costed_again(boot);
        }
    }

    /// Something was paid, dollars.
    pub(super) fn pay(&mut self, usd: f64) {
        self.paid += usd;
    }

    /// A slot with so many `arrivals` is over at `now`; what it adds, where both
    /// prices are known. What came a little before they were is added then.
    ///
    /// Only what is `at_rest`, with nothing in hand, waiting or up, has paid for all
    /// that came: then what was paid bounds the optimum.
    pub(super) fn end_slot(
        &mut self,
        now: Moment,
        arrivals: i64,
        at_rest: bool,
        model: &CostModel,
    ) -> Option<WhatIf> {
        self.arrivals += arrivals;
        let money = money(model);
        if !is_priced(model) {
            if now.since(self.uncompared) >= PATIENCE {
                self.leave_out(now, &money);
            }
            return None;
        }
        self.cost_unpriced(&money);
        self.optimum.advance_to(now, &money);
        self.uncompared = now;
        Some(self.tell(at_rest))
    }

    fn cost_unpriced(&mut self, money: &CostModel) {
        for count in self.unpriced.drain(..) {
            self.optimum.count(&count, money);
            self.opening = self.opening.take().and_then(|it| it.with(count, money));
        }
    }

    fn leave_out(&mut self, now: Moment, money: &CostModel) {
        for count in self.unpriced.drain(..) {
            self.optimum.leave_out(&count, money);
        }
        self.optimum.pass_over(now, money);
        // It tells of what is compared from the beginning on.
        self.opening = None;
        self.uncompared = now;
        (self.paid, self.arrivals) = (0.0, 0);
    }

    fn tell(&mut self, at_rest: bool) -> WhatIf {
        let paid = self.told.paid + std::mem::take(&mut self.paid);
        if at_rest {
            self.optimum.was_possible(paid);
        }
        let hindsight = self.optimum.hindsight();
        let now = WhatIf {
            arrivals: self.told.arrivals + std::mem::take(&mut self.arrivals),
            paid,
            serverless: hindsight.serverless_alone(),
            pod: hindsight.pod_alone(),
            optimum: hindsight.least(),
        };
        let added = now.since(&self.told);
        self.told.add(&added);
        added
    }
}

fn is_priced(model: &CostModel) -> bool {
    model.prices.serverless.and(model.prices.pod).is_some()
}

/// What is compared is money alone.
fn money(model: &CostModel) -> CostModel {
    CostModel {
        prices: Prices {
            wait: UsdPerSecond::ZERO,
            ..model.prices
        },
        ..*model
    }
}

impl WhatIf {
    /// What is more than `before`. A sum that is less, because more is known now, is
    /// told once it has caught up.
    fn since(&self, before: &WhatIf) -> WhatIf {
        WhatIf {
            arrivals: self.arrivals - before.arrivals,
            paid: (self.paid - before.paid).max(0.0),
            serverless: (self.serverless - before.serverless).max(0.0),
            pod: (self.pod - before.pod).max(0.0),
            optimum: (self.optimum - before.optimum).max(0.0),
        }
    }

    fn add(&mut self, more: &WhatIf) {
        self.arrivals += more.arrivals;
        self.paid += more.paid;
        self.serverless += more.serverless;
        self.pod += more.pod;
        self.optimum += more.optimum;
    }

    /// Adds it to what is there of `hour`.
    pub(super) fn add_to(&self, sums: &mut BTreeMap<i64, WhatIf>, hour: i64) {
        sums.entry(hour).or_default().add(self);
    }
}
