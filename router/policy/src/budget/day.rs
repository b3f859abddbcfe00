use std::time::Duration;

use super::{Calendar, OverBudget, RESERVE, over};
use crate::NanoUsd;

const HOUR_MICROS: i128 = 3_600_000_000;
const DAY_MICROS: i64 = 86_400_000_000;

/// A day's budget, and what is held against it.
pub(super) struct Day {
    pub(super) limit: NanoUsd,
    pub(super) spent: NanoUsd,
    /// What the pods cost an hour together, that which may be started among them.
    pub(super) rate: NanoUsd,
    /// For how long they are held against it.
    pub(super) span: Duration,
}

impl Day {
    /// Whether they fit at `at`. A budget of which nothing is left is spent,
    /// whatever comes.
    pub(super) fn fits(&self, at: Calendar) -> bool {
        self.spent < self.limit && self.spent + self.needed(at) <= self.limit && self.may_end()
    }

    /// Why they do not.
    pub(super) fn over(&self, at: Calendar) -> OverBudget {
        let needed = match self.may_end() {
            true => self.needed(at),
            false => over(self.rate, RESERVE),
        };
        OverBudget::Day {
            limit: self.limit,
            spent: self.spent,
            needed,
            fits_at: self.fits_at(at),
        }
    }

    fn needed(&self, at: Calendar) -> NanoUsd {
        over(self.rate, self.span.min(at.rest_of_day()))
    }

    /// Whether tomorrow's budget holds their end, should it come at midnight.
    fn may_end(&self) -> bool {
        over(self.rate, RESERVE) <= self.limit
    }

    /// When they fit, if nothing more is spent: once what is left holds them until
    /// midnight, or the new day for as long as they are held against it.
    fn fits_at(&self, at: Calendar) -> Option<i64> {
        if self.limit <= NanoUsd(0) || !self.may_end() {
            return None;
        }
        let midnight = at.next_day();
        if self.spent < self.limit {
            return Some(midnight - self.lasts(self.limit.0 - self.spent.0));
        }
        Some(match over(self.rate, self.span) <= self.limit {
            true => midnight,
            false => midnight + DAY_MICROS - self.lasts(self.limit.0),
        })
    }

    /// How long `left` pays for them, at most a day; microseconds.
    fn lasts(&self, left: i64) -> i64 {
        let micros = i128::from(left) * HOUR_MICROS / i128::from(self.rate.0.max(1));
        i64::try_from(micros).unwrap_or(DAY_MICROS).min(DAY_MICROS)
    }
}
