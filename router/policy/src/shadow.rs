//! What the same arrivals cost on either tier alone.

use std::time::Duration;

use crate::{CostModel, Moment, Places, Rate, SLOT, ServerlessMeter, SlotCost};

/// Both tiers as if each served alone, from the same counts of arrivals and by
/// the same meters, whichever tier really serves.
#[derive(Debug, Clone, Default)]
pub struct Shadow {
    serverless: ServerlessMeter,
    pod: Places,
    spill: ServerlessMeter,
    cost: SlotCost,
}

/// Arrivals of one count beyond which they are counted as a flow.
const MOST_COUNTED: u64 = 1024;

impl Shadow {
    /// `arrivals` came, evenly spread over the `span` from `start` on; never before the last.
    pub fn count(&mut self, start: Moment, span: Duration, arrivals: u64, model: &CostModel) {
        if arrivals > MOST_COUNTED {
            return self.flow(span, arrivals, model);
        }
        let (work, service) = (&model.work, model.work.service);
        for i in 0..arrivals {
            let part = (i as f64 + 0.5) / arrivals as f64;
            let at = start + span.mul_f64(part);
            self.cost.serverless += model.paid(&self.serverless.take(at, service, work));
            if self.pod.has_room(at, work.concurrency) {
                self.pod.take(at + service);
            } else {
                self.cost.pod += model.paid(&self.spill.take(at, service, work));
            }
        }
    }

    fn flow(&mut self, span: Duration, arrivals: u64, model: &CostModel) {
        let rate = Rate(arrivals as f64 / span.as_secs_f64());
        let price = model.prices.serverless.unwrap_or_default().over(span);
        let places = f64::from(model.work.concurrency.max(1));
        let workers = (rate.within(model.work.service) / places).ceil();
        self.cost.serverless += price * workers;
        self.cost.pod += price * (workers - 1.0).max(0.0);
    }

    /// What the slot that ends now cost on either tier, a pod's price included.
    pub fn end_slot(&mut self, model: &CostModel) -> SlotCost {
        let machine = model.prices.pod.unwrap_or_default().over(SLOT);
        let cost = std::mem::take(&mut self.cost);
        SlotCost {
            pod: cost.pod + machine,
            ..cost
        }
    }
}
