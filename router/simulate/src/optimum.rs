use std::time::Duration;

use thermocline_policy::{CostModel, Hindsight, Moment, Places, ServerlessMeter, SlotCost};

/// The offline optimum of one deployment, slot by slot as arrivals come.
#[derive(Debug, Clone)]
pub(crate) struct Optimum {
    model: CostModel,
    slot: Duration,
    begin: Moment,
    serverless: ServerlessMeter,
    pod: Places,
    /// What finds no place on the pod goes to serverless.
    spill: ServerlessMeter,
    cost: SlotCost,
    hindsight: Hindsight,
}

impl Optimum {
    pub(crate) fn new(model: &CostModel, slot: Duration) -> Self {
        Optimum {
            model: *model,
            slot,
            begin: Moment::ORIGIN,
            serverless: ServerlessMeter::default(),
            pod: Places::default(),
            spill: ServerlessMeter::default(),
            cost: SlotCost::default(),
            hindsight: Hindsight::new(model, slot),
        }
    }

    pub(crate) fn arrive(&mut self, now: Moment, service: Duration) {
        self.advance_to(now);
        let (model, work) = (&self.model, &self.model.work);
        self.cost.serverless += model.paid(&self.serverless.take(now, service, work));
        if self.pod.has_room(now, work.concurrency) {
            self.pod.take(now + service);
        } else {
            self.cost.pod += model.paid(&self.spill.take(now, service, work));
        }
    }

    pub(crate) fn advance_to(&mut self, now: Moment) {
        while self.begin + self.slot <= now {
            let machine = self.model.prices.pod.unwrap_or_default().over(self.slot);
            self.cost.pod += machine;
            let cost = std::mem::take(&mut self.cost);
            self.hindsight.advance(cost, &self.model);
            self.begin = self.begin + self.slot;
        }
    }

    pub(crate) fn least(&self) -> f64 {
        self.hindsight.least()
    }
}
