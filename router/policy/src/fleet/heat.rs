use std::time::Duration;

use crate::Moment;

/// How much a model is used: its requests, each counting half as much after
/// every half-life. A steady rate `r` reads as `r × half-life ÷ ln 2`.
///
/// It combines recency and frequency in one number (Lee et al., "LRFU",
/// IEEE Transactions on Computers 50, 2001). A worker keeps it for models that
/// it no longer holds too: what comes back often is worth keeping next time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Heat {
    uses: f64,
    at: Moment,
}

impl Heat {
    /// So many uses, all of them at `now`.
    pub const fn of(uses: f64, now: Moment) -> Self {
        Heat { uses, at: now }
    }

    /// Counts one use at `now`.
    pub fn used(&mut self, now: Moment, half_life: Duration) {
        self.uses = self.read(now, half_life) + 1.0;
        self.at = self.at.max(now);
    }

    /// Both uses together.
    pub fn and(self, other: Heat, half_life: Duration) -> Heat {
        let now = self.at.max(other.at);
        let uses = self.read(now, half_life) + other.read(now, half_life);
        Heat::of(uses, now)
    }

    /// The uses that count at `now`; 0 or more.
    pub fn read(&self, now: Moment, half_life: Duration) -> f64 {
        if half_life.is_zero() {
            return 0.0;
        }
        let half_lives = now.since(self.at).as_secs_f64() / half_life.as_secs_f64();
        self.uses * (-half_lives).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_LIFE: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Moment {
        Moment::from_origin(Duration::from_secs(seconds))
    }

    #[test]
    fn a_use_counts_half_after_each_half_life() {
        let mut heat = Heat::default();
        heat.used(at(0), HALF_LIFE);
        heat.used(at(60), HALF_LIFE);
        assert_eq!(heat.read(at(60), HALF_LIFE), 1.5);
        assert_eq!(heat.read(at(180), HALF_LIFE), 0.375);
    }

    #[test]
    fn a_steady_rate_reads_as_that_rate() {
        let mut heat = Heat::default();
        (0..6_000).for_each(|second| heat.used(at(second), HALF_LIFE));
        let expected = 60.0 / std::f64::consts::LN_2;
        assert!((heat.read(at(6_000), HALF_LIFE) - expected).abs() / expected < 0.01);
    }
}
