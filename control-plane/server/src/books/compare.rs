use std::collections::BTreeMap;
use std::time::Duration;

use thermocline_policy::{CostModel, Hindsight, Moment, Prices, Shadow, SoFar, UsdPerSecond};

use super::{Comparison, WhatIf};

/// How long what has no price yet waits for one before it is left out.
const PATIENCE: Duration = Duration::from_secs(60);

impl Comparison {
    /// Nothing has come yet.
    pub(super) fn begin(now: Moment) -> Self {
        Comparison {
            shadow: Shadow::booting_from(now),
            hindsight: None,
            last: WhatIf::default(),
            uncompared: now,
            paid: 0.0,
            arrivals: 0,
            resumed: None,
        }
    }

    /// Goes on with what earlier processes compared: the pod of who has only
    /// pods is there.
    pub(super) fn resume(&mut self, sums: WhatIf) {
        self.shadow = Shadow::default();
        self.last = sums;
        self.resumed = Some(SoFar {
            serverless: sums.serverless,
            pod: sums.pod,
            least: sums.optimum,
        });
    }

    /// A slot with so many `arrivals` is over at `now`; what it adds, where both
    /// prices are known. What came a little before they were is added then.
    pub(super) fn end_slot(
        &mut self,
        now: Moment,
        arrivals: i64,
        model: &CostModel,
    ) -> Option<WhatIf> {
        self.arrivals += arrivals;
        let priced = model.prices.serverless.and(model.prices.pod).is_some();
        let span = now.since(self.uncompared);
        if !priced && span < PATIENCE {
            return None;
        }
        let begun = std::mem::replace(&mut self.uncompared, now);
        let paid = std::mem::take(&mut self.paid);
        let arrivals = std::mem::take(&mut self.arrivals);
        let money = CostModel {
            prices: Prices {
                wait: UsdPerSecond::ZERO,
                ..model.prices
            },
            ..*model
        };
        let cost = self.shadow.end_slot(span, &money);
        if !priced {
            return None;
        }
        let resumed = self.resumed;
        let begin = || match resumed {
            Some(so_far) => Hindsight::resumed(begun, so_far),
            None => Hindsight::new(begun),
        };
        let hindsight = self.hindsight.get_or_insert_with(begin);
        hindsight.advance(cost, span, model);
        let paid = self.last.paid + paid;
        hindsight.was_possible(paid);
        let now = WhatIf {
            arrivals: self.last.arrivals + arrivals,
            paid,
            serverless: hindsight.serverless_alone(),
            pod: hindsight.pod_alone(),
            optimum: hindsight.least(),
        };
        let added = now.since(&self.last);
        self.last = now;
        Some(added)
    }
}

impl WhatIf {
    fn since(&self, before: &WhatIf) -> WhatIf {
        WhatIf {
            arrivals: self.arrivals - before.arrivals,
            paid: self.paid - before.paid,
            serverless: self.serverless - before.serverless,
            pod: self.pod - before.pod,
            optimum: (self.optimum - before.optimum).max(0.0),
        }
    }

    /// Adds `more` to what is there of `hour`.
    pub(super) fn add_to(self, sums: &mut BTreeMap<i64, WhatIf>, hour: i64) {
        let sum = sums.entry(hour).or_default();
        sum.arrivals += self.arrivals;
        sum.paid += self.paid;
        sum.serverless += self.serverless;
        sum.pod += self.pod;
        sum.optimum += self.optimum;
    }
}
