use std::sync::{Mutex, MutexGuard};

use thermocline_policy::NanoUsd;

/// What was spent within the newest hour or day in which anything was.
#[derive(Debug, Default)]
pub(crate) struct Spent(Mutex<(i64, NanoUsd)>);

impl Spent {
    /// Adds what was spent in `period`; what is late for a newer one is left out.
    pub(crate) fn add(&self, period: i64, cost: NanoUsd) {
        let mut newest = self.newest();
        if period > newest.0 {
            *newest = (period, NanoUsd(0));
        }
        if period == newest.0 {
            newest.1 += cost;
        }
    }

    /// What was spent in `period`.
    pub(crate) fn within(&self, period: i64) -> NanoUsd {
        let newest = self.newest();
        match newest.0 == period {
            true => newest.1,
            false => NanoUsd(0),
        }
    }

    fn newest(&self) -> MutexGuard<'_, (i64, NanoUsd)> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_period_begins_with_nothing() {
        let spent = Spent::default();
        spent.add(5, NanoUsd(3));
        spent.add(5, NanoUsd(4));
        assert_eq!((spent.within(5), spent.within(6)), (NanoUsd(7), NanoUsd(0)));
        spent.add(6, NanoUsd(1));
        spent.add(5, NanoUsd(9));
        assert_eq!(spent.within(6), NanoUsd(1));
    }
}
