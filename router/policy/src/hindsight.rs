//! The cheapest that could have been done, had everything been known.

use std::collections::VecDeque;
use std::time::Duration;

use crate::{CostModel, SlotCost};

/// The offline optimum by dynamic programming over slots, for one pod.
///
/// States: on serverless, in one of the m = ⌈B/Δ⌉ slots of a boot (serverless
/// serves, the pod is paid for), on the pod. Going back costs nothing, so it is
/// a lower bound: V_t(j) = min_i V_{t−1}(i) + c_t(j). The boot is a delay line,
/// so a slot takes constant time and memory is that of one boot.
#[derive(Debug, Clone)]
pub struct Hindsight {
    serverless: f64,
    pod: f64,
    /// Cost so far of being in a boot all along: what differences are taken of.
    booting: f64,
    /// For each boot on its way, the cheapest way to its beginning less `booting` then.
    boots: VecDeque<f64>,
    boot_slots: usize,
    slot: Duration,
}

impl Hindsight {
    /// Begins on serverless; `slot` above zero.
    pub fn new(model: &CostModel, slot: Duration) -> Self {
        let boot_slots = model.work.boot.as_secs_f64() / slot.as_secs_f64();
        Hindsight {
            serverless: 0.0,
            pod: f64::INFINITY,
            booting: 0.0,
            boots: VecDeque::new(),
            boot_slots: boot_slots.ceil() as usize,
            slot,
        }
    }

    /// One more slot, in which the whole slot cost `cost` on either tier.
    pub fn advance(&mut self, cost: SlotCost, model: &CostModel) {
        let begun = self.serverless.min(self.pod);
        self.boots.push_back(begun - self.booting);
        // Whoever began a boot that many slots ago is on the pod in this one.
        let booted = match self.boots.len() > self.boot_slots {
            true => self.boots.pop_front().map(|begun| begun + self.booting),
            false => None,
        };
        let pod = self.pod.min(booted.unwrap_or(f64::INFINITY));
        let machine = model.prices.pod.unwrap_or_default().over(self.slot);
        self.booting += cost.serverless + machine;
        self.serverless = begun + cost.serverless;
        self.pod = pod + cost.pod;
    }

    /// The least that all slots so far could have cost, dollars.
    pub fn least(&self) -> f64 {
        self.serverless.min(self.pod)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Prices, UsdPerSecond, Work};

    fn model(boot: u64) -> CostModel {
        CostModel {
            prices: Prices {
                serverless: UsdPerSecond::of(0.002),
                pod: UsdPerSecond::of(0.001),
                wait: UsdPerSecond::ZERO,
            },
            work: Work {
                boot: Duration::from_secs(boot),
                ..Work::default()
            },
        }
    }

    const SLOT: Duration = Duration::from_secs(10);

    /// Every way through the slots, tried out.
    fn cheapest(slots: &[SlotCost], boot: usize, machine: f64) -> f64 {
        fn go(slots: &[SlotCost], boot: usize, machine: f64, on_pod: bool) -> f64 {
            let Some((now, rest)) = slots.split_first() else {
                return 0.0;
            };
            let mut best = now.serverless + go(rest, boot, machine, false);
            if on_pod {
                best = best.min(now.pod + go(rest, boot, machine, true));
            }
            if slots.len() > boot {
                let (during, after) = slots.split_at(boot);
                let paid: f64 = during.iter().map(|slot| slot.serverless + machine).sum();
                best = best.min(paid + after[0].pod + go(&after[1..], boot, machine, true));
            }
            best
        }
        go(slots, boot, machine, false)
    }

    proptest! {
        #[test]
        fn nothing_is_cheaper(
            costs in prop::collection::vec((0.0f64..0.1, 0.01f64..0.03), 0..12),
            boot in 0usize..4,
        ) {
            let slots: Vec<SlotCost> = costs
                .into_iter()
                .map(|(serverless, pod)| SlotCost { serverless, pod })
                .collect();
            let model = model(boot as u64 * 10);
            let mut hindsight = Hindsight::new(&model, SLOT);
            for slot in &slots {
                hindsight.advance(*slot, &model);
            }
            let exact = cheapest(&slots, boot, 0.01);
            prop_assert!((hindsight.least() - exact).abs() < 1e-9, "{} {exact}", hindsight.least());
        }
    }

    #[test]
    fn memory_is_that_of_one_boot() {
        let model = model(150);
        let mut hindsight = Hindsight::new(&model, SLOT);
        for _ in 0..10_000 {
            hindsight.advance(SlotCost::default(), &model);
        }
        assert_eq!(hindsight.boots.len(), 15);
    }
}
