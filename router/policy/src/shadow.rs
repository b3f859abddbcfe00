//! What the same arrivals cost on either tier alone.

use std::time::Duration;

use crate::meter::{capacity_of_pod, flow};
use crate::{CostModel, Count, Moment, Places, ServerlessMeter, Taken};

/// What arrivals within one stretch of time cost, or would have cost, on each
/// tier, dollars.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SlotCost {
    /// All of them on serverless.
    pub serverless: f64,
    /// On serverless, those that a pod beside it has no place for.
    pub spill: f64,
    /// The pod itself.
    pub machine: f64,
    /// The pod, until what it took of them has ended.
    pub last_work: f64,
}

impl SlotCost {
    /// On a pod that is there, with serverless for what it has no place for.
    pub fn pod(&self) -> f64 {
        self.machine + self.spill
    }
}

/// Both tiers as if each served alone, from the same counts of arrivals and by
/// the same meters, whichever tier really serves.
///
/// By default the pod is there; see [`Shadow::booting_from`].
#[derive(Debug, Clone, Default)]
pub struct Shadow {
    serverless: ServerlessMeter,
    pod: Places,
    /// Serverless beside the pod: while it boots, and for what it has no place for.
    spill: ServerlessMeter,
    /// When the pod was wished for, until it is ready.
    boots_since: Option<Moment>,
    taken: Both,
    /// The longest that the pod has any of them in hand.
    in_hand: Duration,
}

/// What the endpoint took that serves alone, and the one beside the pod.
#[derive(Debug, Clone, Copy, Default)]
struct Both {
    alone: Taken,
    spilt: Taken,
}

impl Shadow {
    /// The pod is wished for at `begin`, and serverless serves until it is ready.
    pub fn booting_from(begin: Moment) -> Self {
        Shadow {
            boots_since: Some(begin),
            ..Shadow::default()
        }
    }

    /// One request that arrives at `now` (never before the last) and takes `service`
    /// on serverless, and on a pod in proportion.
    pub fn take(&mut self, now: Moment, service: Duration, model: &CostModel) {
        self.taken.alone += self.serverless.take(now, service, &model.work);
        self.take_on_pod(now, service, model);
    }

    /// What was counted, never before the last.
    pub fn count(&mut self, count: &Count, model: &CostModel) {
        let work = &model.work;
        self.taken.alone += self.serverless.count(count, work);
        if count.is_flood() {
            return self.flood_pod(count, model);
        }
        for at in count.evenly() {
            self.take_on_pod(at, work.service, model);
        }
    }

    /// What is still in hand keeps its serverless workers up, whatever was reckoned.
    pub(crate) fn hold(&mut self, count: &Count, model: &CostModel) {
        self.taken.alone += self.serverless.hold(count, &model.work);
    }

    /// The pod takes what its places allow for `span`, and spills the rest.
    fn flood_pod(&mut self, count: &Count, model: &CostModel) {
        let (work, span) = (&model.work, count.span);
        let mut beyond = count.requests as f64;
        if self.is_ready(count.start, model) {
            beyond -= capacity_of_pod(span, work);
            self.in_hand = self.in_hand.max(span + work.service_on_pod);
        }
        self.taken.spilt += flow(span, beyond.max(0.0), work);
    }

    fn take_on_pod(&mut self, now: Moment, service: Duration, model: &CostModel) {
        let there = self.is_ready(now, model);
        if there && self.pod.has_room(now, model.work.concurrency) {
            let on_pod = model.work.on_pod(service);
            self.pod.take(now + on_pod);
            self.in_hand = self.in_hand.max(on_pod);
        } else {
            self.taken.spilt += self.spill.take(now, service, &model.work);
        }
    }

    fn is_ready(&mut self, now: Moment, model: &CostModel) -> bool {
        let boots = |since: &Moment| now.since(*since) < model.work.boot;
        self.boots_since = self.boots_since.filter(boots);
        self.boots_since.is_none()
    }

    /// What the stretch of time that ends now, of length `slot`, cost on either
    /// tier, waiting at its price.
    pub fn end_slot(&mut self, slot: Duration, model: &CostModel) -> SlotCost {
        let Both { alone, spilt } = std::mem::take(&mut self.taken);
        let in_hand = std::mem::take(&mut self.in_hand);
        let pod = model.prices.pod.unwrap_or_default();
        SlotCost {
            serverless: model.paid(&alone),
            spill: model.paid(&spilt),
            machine: pod.over(slot),
            last_work: pod.over(in_hand),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Prices, UsdPerSecond, Work};

    /// 2000 requests in 10 s, on places for ten at a time.
    fn spilt(on_pod_ms: u64) -> f64 {
        let model = CostModel {
            prices: Prices {
                serverless: UsdPerSecond::of(1.0),
                ..Prices::default()
            },
            work: Work {
                service: Duration::from_secs(2),
                service_on_pod: Duration::from_millis(on_pod_ms),
                concurrency: 10,
                ..Work::default()
            },
        };
        let (mut shadow, span) = (Shadow::default(), Duration::from_secs(10));
        let count = Count {
            start: Moment::ORIGIN,
            span,
            requests: 2_000,
            in_hand: 0,
        };
        shadow.count(&count, &model);
        let cost = shadow.end_slot(span, &model);
        assert_eq!(cost.serverless, 400.0, "40 workers for 10 s");
        cost.spill
    }

    #[test]
    fn of_a_flood_a_pod_takes_what_its_own_service_time_leaves_room_for() {
        assert_eq!(spilt(50), 0.0, "it takes all 2000");
        assert_eq!(spilt(1_000), 380.0, "100; 1900 are 38 workers");
        assert_eq!(spilt(20_000), 400.0, "five");
    }
}
