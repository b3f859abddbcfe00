//! How the requests of each deployment were served.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many requests were served how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// By a backend that was there.
    pub(crate) warm: u64,
    /// After a start, their own or one that they joined.
    pub(crate) cold: u64,
    /// By another tier while the decided one was starting.
    pub(crate) fallback: u64,
    /// Not at all.
    pub(crate) failed: u64,
}

impl Tally {
    /// All requests, however they were served.
    pub(crate) fn requests(self) -> u64 {
        self.warm + self.cold + self.fallback + self.failed
    }

    fn count(&mut self, start: Option<&str>) {
        match start {
            Some("cold" | "joined") => self.cold += 1,
            Some("fallback") => self.fallback += 1,
            Some(_) => self.warm += 1,
            None => self.failed += 1,
        }
    }
}

/// A tally for each deployment.
#[derive(Debug, Default)]
pub(crate) struct Tallies(Mutex<BTreeMap<&'static str, Tally>>);

impl Tallies {
    /// Counts a request; `start` is how it was served, none for one that was not.
    pub(crate) fn count(&self, name: &'static str, start: Option<&str>) {
        self.lock().entry(name).or_default().count(start);
    }

    /// What was counted for `name`.
    pub(crate) fn of(&self, name: &str) -> Tally {
        self.lock().get(name).copied().unwrap_or_default()
    }

    /// Everything that was counted, by name.
    pub(crate) fn all(&self) -> Vec<(&'static str, Tally)> {
        let tallies = self.lock();
        tallies
            .iter()
            .map(|(name, tally)| (*name, *tally))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Tally>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_being_served_is_counted_once() {
        let tallies = Tallies::default();
        for start in ["warm", "cold", "joined", "fallback"] {
            tallies.count("a", Some(start));
        }
        tallies.count("a", None);
        let expected = Tally {
            warm: 1,
            cold: 2,
            fallback: 1,
            failed: 1,
        };
        assert_eq!(tallies.of("a"), expected);
        assert_eq!(tallies.all(), [("a", expected)]);
        assert_eq!(expected.requests(), 5);
        assert_eq!(tallies.of("b"), Tally::default());
    }
}
