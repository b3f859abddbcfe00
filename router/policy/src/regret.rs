//! What the other tier would have saved since the last switch.

use crate::{CostModel, SlotCost, Tier};

/// The two-state work-function rule: move once the other tier would have saved
/// what moving there and back costs. 3-competitive, and no deterministic rule
/// guarantees less (Borodin, Linial and Saks 1992, metrical task systems).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Regret {
    on_pod: bool,
    saved: f64,
    price: f64,
}

impl Regret {
    /// One more slot, of `cost`, with `on` in force at its end.
    pub fn advance(&mut self, cost: SlotCost, on: Tier, model: &CostModel) {
        let on_pod = on == Tier::Pod;
        if on_pod != self.on_pod {
            *self = Regret {
                on_pod,
                ..Regret::default()
            };
        }
        self.price = model.switch_usd();
        // What spills over would have been on serverless in any case: a pod with
        // a cold endpoint beside it is never worse than that endpoint alone.
        let pod = cost.pod().min(cost.serverless + cost.machine);
        let here_over_there = match on_pod {
            true => pod - cost.serverless,
            false => cost.serverless - pod,
        };
        // Where a switch is free, any saving is enough for it.
        let enough = self.price.max(f64::MIN_POSITIVE);
        self.saved = (self.saved + here_over_there).clamp(0.0, enough);
    }

    /// Whether it is time to move to the other tier.
    pub fn moves(&self) -> bool {
        self.saved > 0.0 && self.saved >= self.price
    }

    /// Whether the pod is the tier that it looks from.
    pub fn on_pod(&self) -> bool {
        self.on_pod
    }

    /// What the other tier would have saved since the last switch, dollars.
    pub fn saved_usd(&self) -> f64 {
        self.saved
    }

    /// What a switch and the way back cost, dollars.
    pub fn switch_usd(&self) -> f64 {
        self.price
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Prices, UsdPerSecond, Work};

    /// Nothing to boot and nothing to wait for: whatever saves, is moved to.
    #[test]
    fn a_free_switch_is_made_for_any_saving() {
        let model = CostModel {
            prices: Prices {
                serverless: UsdPerSecond::of(0.001),
                pod: UsdPerSecond::of(0.0),
                wait: UsdPerSecond::default(),
            },
            work: Work {
                cold_start: std::time::Duration::ZERO,
                boot: std::time::Duration::ZERO,
                ..Work::default()
            },
        };
        let mut regret = Regret::default();
        assert!(!regret.moves());
        let cost = SlotCost {
            serverless: 0.01,
            ..SlotCost::default()
        };
        regret.advance(cost, Tier::Serverless, &model);
        assert!(regret.moves());
    }
}
