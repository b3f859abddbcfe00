use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// An amount of money, or a price per unit, in billionths of a US dollar.
///
/// An integer, so that sums over millions of rows stay exact. Sums saturate: what is
/// beyond all money stays so.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct NanoUsd(pub i64);

impl NanoUsd {
    /// The nearest amount to `usd` dollars; saturates beyond ±9.2 billion, NaN is zero.
    pub fn from_usd(usd: f64) -> Self {
        NanoUsd((usd * 1e9).round() as i64)
    }

    /// The amount in dollars.
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl NanoUsd {
    /// The most that is believed to be the price of anything: a million dollars an hour.
    pub const HIGHEST_PRICE: NanoUsd = NanoUsd(1_000_000_000_000_000);

    /// A price an hour that somebody else names; `None` unless it is a sum of money
    /// from 0 to [`NanoUsd::HIGHEST_PRICE`].
    pub fn price(usd_per_hour: f64) -> Option<Self> {
        let believed = 0.0..=Self::HIGHEST_PRICE.as_usd();
        believed
            .contains(&usd_per_hour)
            .then(|| NanoUsd::from_usd(usd_per_hour))
    }
}

impl Add for NanoUsd {
    type Output = NanoUsd;

    fn add(self, other: NanoUsd) -> NanoUsd {
        NanoUsd(self.0.saturating_add(other.0))
    }
}

impl AddAssign for NanoUsd {
    fn add_assign(&mut self, other: NanoUsd) {
        *self = *self + other;
    }
}

impl Sum for NanoUsd {
    fn sum<I: Iterator<Item = NanoUsd>>(all: I) -> NanoUsd {
        all.fold(NanoUsd(0), Add::add)
    }
}

impl fmt::Display for NanoUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.as_usd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_at_all_the_money_there_is() {
        let all = NanoUsd::from_usd(1e308);
        assert_eq!(all + all, all);
        assert_eq!([all, NanoUsd(1), all].into_iter().sum::<NanoUsd>(), all);
    }

    #[test]
    fn a_price_is_a_sum_of_money_that_somebody_could_ask() {
        assert_eq!(NanoUsd::price(0.5), Some(NanoUsd(500_000_000)));
        assert_eq!(NanoUsd::price(0.0), Some(NanoUsd(0)));
        assert_eq!(NanoUsd::price(1e6), Some(NanoUsd::HIGHEST_PRICE));
        for none in [-0.01, 1e308, 1_000_001.0, f64::NAN, f64::INFINITY] {
            assert_eq!(NanoUsd::price(none), None, "{none}");
        }
    }
}
