use std::fmt;

use serde::{Deserialize, Serialize};

/// An amount of money, or a price per unit, in billionths of a US dollar.
///
/// An integer, so that sums over millions of rows stay exact.
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

impl fmt::Display for NanoUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.as_usd())
    }
}
