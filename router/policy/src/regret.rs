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
    /// The same, with `on` in force: after a switch it begins anew.
    #[must_use]
    pub fn seen_from(&self, on: Tier) -> Regret {
        let on_pod = on == Tier::Pod;
        match on_pod == self.on_pod {
            true => *self,
            false => self.anew(on),
        }
    }

    /// Begun anew, with `on` in force: nothing has gathered.
    #[must_use]
    pub fn anew(&self, on: Tier) -> Regret {
        Regret {
            on_pod: on == Tier::Pod,
            saved: 0.0,
            price: self.price,
        }
    }

    /// One more slot, of `cost`, with `on` in force at its end.
    pub fn advance(&mut self, cost: SlotCost, on: Tier, model: &CostModel) {
        *self = self.seen_from(on);
        self.price = model.switch_usd();
        // What spills over would have been on serverless in any case: a pod with
        // a cold endpoint beside it is never worse than that endpoint alone.
        let pod = cost.pod().min(cost.serverless + cost.machine);
        let here_over_there = match self.on_pod {
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

    /// The tier that would have saved it.
    pub fn towards(&self) -> Tier {
        match self.on_pod {
            true => Tier::Serverless,
            false => Tier::Pod,
        }
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

    #[test]
    fn after_a_switch_nothing_has_gathered_and_the_price_is_the_same() {
        let full = Regret {
            on_pod: true,
            saved: 0.14,
            price: 0.14,
        };
        assert_eq!(full.seen_from(Tier::Pod), full);
        let after = full.seen_from(Tier::Serverless);
        assert_eq!((after.saved_usd(), after.switch_usd()), (0.0, 0.14));
        assert_eq!(after.towards(), Tier::Pod);
    }

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
