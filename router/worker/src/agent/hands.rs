//! The jobs in hand.

use std::collections::BTreeMap;

use tokio_util::sync::CancellationToken;

use crate::event::Origin;

/// Jobs in hand by queue. A queue may be left and joined again meanwhile.
#[derive(Default)]
pub(super) struct Hands(BTreeMap<String, Hand>);

/// One queue's jobs.
#[derive(Default)]
struct Hand {
    /// How many, by what brought them.
    jobs: BTreeMap<Origin, u32>,
    /// Ends their runs: other work needs the memory.
    yields: CancellationToken,
}

impl Hands {
    /// One job more.
    pub(super) fn count(&mut self, queue: &str, origin: Origin) {
        let hand = self.0.entry(queue.to_owned()).or_default();
        *hand.jobs.entry(origin).or_default() += 1;
    }

    /// One job less.
    pub(super) fn discount(&mut self, queue: &str, origin: Origin) {
        let Some(hand) = self.0.get_mut(queue) else {
            return;
        };
        if let Some(count) = hand.jobs.get_mut(&origin) {
            *count = count.saturating_sub(1);
        }
        hand.jobs.retain(|_, count| *count > 0);
        if hand.jobs.is_empty() {
            self.0.remove(queue);
        }
    }

    /// Jobs of `queue`.
    pub(super) fn of(&self, queue: &str) -> u32 {
        self.0.get(queue).map_or(0, |hand| hand.jobs.values().sum())
    }

    /// Jobs of `queue` that something else than `origin` brought.
    pub(super) fn foreign(&self, queue: &str, origin: Origin) -> u32 {
        let jobs = self.0.get(queue).into_iter().flat_map(|hand| &hand.jobs);
        let others = jobs.filter(|(brought_by, _)| **brought_by != origin);
        others.map(|(_, count)| count).sum()
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What will end the runs of those that `queue` has now.
    pub(super) fn yields(&self, queue: &str) -> CancellationToken {
        let hand = self.0.get(queue);
        hand.map(|hand| hand.yields.clone()).unwrap_or_default()
    }

    /// Ends the runs of those that `queue` has now, and of none that it gets later.
    pub(super) fn end_runs(&mut self, queue: &str) {
        if let Some(hand) = self.0.get_mut(queue) {
            std::mem::take(&mut hand.yields).cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_counted_by_what_brought_them() {
        let mut hands = Hands::default();
        hands.count("m", 0);
        hands.count("m", 7);
        hands.count("m", 7);
        assert_eq!((hands.of("m"), hands.foreign("m", 7)), (3, 1));
        hands.discount("m", 0);
        hands.discount("m", 7);
        assert!(!hands.is_empty());
        hands.discount("m", 7);
        assert!(hands.is_empty());
    }

    #[test]
    fn runs_that_yield_are_those_in_hand_and_no_later_ones() {
        let mut hands = Hands::default();
        hands.count("m", 0);
        let earlier = hands.yields("m");
        hands.end_runs("m");
        assert!(earlier.is_cancelled());
        assert!(!hands.yields("m").is_cancelled());
    }
}
