use crate::{CostModel, Rate, Tier, UsdPerSecond};

/// Between which rates a break-even is looked for, requests a second.
const RANGE: (f64, f64) = (1e-7, 1e4);
/// Steps of the search; neighbours differ by a twentieth.
const STEPS: u32 = 520;
/// Costs that differ by less are the same: they were summed in another order.
const CLEARLY: f64 = 1.0 + 1e-9;
/// Halvings of the step in which the costs cross.
const HALVINGS: u32 = 40;

/// From which rate on a pod costs less than serverless.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BreakEven {
    /// From this rate on: λ*, the smallest root of C_S(λ) = C_P(λ).
    At(Rate),
    /// At any rate: a pod costs nothing.
    Always,
    /// At none: serverless is never dearer, as when a pod costs as much as a worker.
    Never,
    /// Nobody knows: this tier has no price.
    Unpriced(Tier),
}

impl CostModel {
    /// From which rate on a pod costs less than serverless.
    pub fn break_even(&self) -> BreakEven {
        let (Some(serverless), Some(pod)) = (self.prices.serverless, self.prices.pod) else {
            let unpriced = match self.prices.serverless {
                None => Tier::Serverless,
                Some(_) => Tier::Pod,
            };
            return BreakEven::Unpriced(unpriced);
        };
        let free = UsdPerSecond::ZERO;
        if pod == free {
            return match serverless > free || self.prices.wait > free {
                true => BreakEven::Always,
                false => BreakEven::Never,
            };
        }
        if pod >= serverless && self.prices.wait == free {
            return BreakEven::Never;
        }
        self.smallest_root().map_or(BreakEven::Never, BreakEven::At)
    }

    fn smallest_root(&self) -> Option<Rate> {
        let ratio = (RANGE.1 / RANGE.0).powf(1.0 / f64::from(STEPS));
        let mut low = 0.0;
        for step in 0..=STEPS {
            let high = RANGE.0 * ratio.powi(step as i32);
            if self.pod_pays(high) {
                return Some(self.bisect(low, high));
            }
            low = high;
        }
        None
    }

    fn bisect(&self, mut low: f64, mut high: f64) -> Rate {
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            match self.pod_pays(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        Rate(high)
    }

    fn pod_pays(&self, lambda: f64) -> bool {
        let rate = Rate(lambda);
        match (self.serverless(rate), self.pod(rate)) {
            (Some(serverless), Some(pod)) => serverless.as_usd() > pod.as_usd() * CLEARLY,
            _ => false,
        }
    }
}
