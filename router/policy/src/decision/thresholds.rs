use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Tier;

/// What made the thresholds in force, and so what a decision by them means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The two rates as a person wrote them, or the server's.
    #[default]
    Rates,
    /// λ*, the rate from which a pod costs less.
    BreakEven,
    /// A pod is at no rate the cheaper one.
    NeverPays,
    /// A pod costs nothing.
    Free,
    /// What the other tier would have saved.
    Regret,
    /// Prices are on their way, and until then nothing moves.
    AwaitedPrices,
    /// Serverless would miss the objective.
    Objective,
}

/// The numbers that the rate is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// What made them.
    pub basis: Basis,
    /// The window over which arrivals are counted.
    pub window: Duration,
    /// Requests a second from which a pod serves.
    pub promote_rps: f64,
    /// Requests a second below which it stops serving.
    pub demote_rps: f64,
    /// The least time between two transitions.
    pub hold: Duration,
    /// No promotion with fewer arrivals in the window; 0 = the rate alone says.
    pub least_arrivals: u64,
    /// The least time from a transition to a promotion.
    pub hold_up: Duration,
    /// The least time from a transition to a demotion.
    pub hold_down: Duration,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            basis: Basis::Rates,
            window: Duration::from_secs(300),
            promote_rps: 0.2,
            demote_rps: 0.05,
            hold: Duration::ZERO,
            least_arrivals: 0,
            hold_up: Duration::ZERO,
            hold_down: Duration::ZERO,
        }
    }
}

impl Thresholds {
    /// Arrivals in a window from which a pod serves; whole, or infinite.
    pub fn promote_count(&self) -> f64 {
        whole_count(self.promote_rps, self.window).max(self.least_arrivals as f64)
    }

    /// The least time from a transition to a move to `tier`.
    pub(super) fn hold_towards(&self, tier: Tier) -> Duration {
        self.hold.max(match tier {
            Tier::Pod => self.hold_up,
            _ => self.hold_down,
        })
    }

    /// Arrivals in a window below which it stops serving; whole, or infinite.
    pub fn demote_count(&self) -> f64 {
        whole_count(self.demote_rps, self.window)
    }
}

/// How much rounding adds to a whole count: a window is cut to nanoseconds.
const ROUNDING: f64 = 1e-9;

/// The least whole count that is not below `rps`, requests a second, over `window`.
fn whole_count(rps: f64, window: Duration) -> f64 {
    let count = rps * window.as_secs_f64();
    (count * (1.0 - ROUNDING)).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_the_next_whole_one_and_rounding_adds_none() {
        let counts = |promote_rps, demote_rps, seconds| {
            let thresholds = Thresholds {
                promote_rps,
                demote_rps,
                window: Duration::from_secs_f64(seconds),
                ..Thresholds::default()
            };
            (thresholds.promote_count(), thresholds.demote_count())
        };
        assert_eq!(counts(0.2, 0.05, 300.0), (60.0, 15.0));
        assert_eq!(counts(0.201, 0.0, 300.0), (61.0, 0.0), "60.3");
        assert_eq!(
            counts(f64::INFINITY, f64::INFINITY, 300.0),
            (f64::INFINITY, f64::INFINITY)
        );
        // A window of 16 arrivals at the rate of equal cost: 32 at twice, 8 at half of it.
        for i in 1..=10_000 {
            let at = f64::from(i) * 1.7e-5;
            assert_eq!(counts(2.0 * at, 0.5 * at, 16.0 / at), (32.0, 8.0), "{at}");
        }
    }
}
