use std::time::Duration;

use thermocline_policy::Moment;

use crate::assumptions::Assumptions;
use crate::trace::Arrival;

/// Requests for one deployment within one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotCount {
    /// Which slot, in their order.
    pub slot: u64,
    /// The deployment.
    pub deployment: String,
    /// How many came.
    pub arrivals: u64,
}

/// Arrivals as the books count them: by slots, evenly spread over each.
#[derive(Debug, Clone)]
pub struct Ledger {
    slot: Duration,
    counts: Vec<SlotCount>,
    deployments: Vec<String>,
}

impl Ledger {
    /// Counts of slots of that length, in any order.
    pub fn new(slot: Duration, mut counts: Vec<SlotCount>) -> Self {
        counts.sort_by_key(|count| count.slot);
        let mut names: Vec<String> = counts.iter().map(|it| it.deployment.clone()).collect();
        names.sort();
        names.dedup();
        Ledger {
            slot,
            counts,
            deployments: names,
        }
    }

    /// Drops the oldest slots, each with all its deployments, until at most `most`
    /// arrivals are left. The names stay.
    pub fn keep_newest(&mut self, most: u64) {
        let (mut left, mut dropped) = (most, self.counts.len());
        for slot in self.slots().rev() {
            let arrivals: u64 = slot.iter().map(|count| count.arrivals).sum();
            if arrivals > left {
                break;
            }
            left -= arrivals;
            dropped -= slot.len();
        }
        self.counts.drain(..dropped);
    }

    /// The counts of each slot, in their order.
    fn slots(&self) -> impl DoubleEndedIterator<Item = &[SlotCount]> {
        self.counts.chunk_by(|a, b| a.slot == b.slot)
    }

    /// Every deployment that something came for, by name.
    pub fn deployments(&self) -> &[String] {
        &self.deployments
    }

    /// The first slot in which something came.
    pub fn first_slot(&self) -> Option<u64> {
        self.counts.first().map(|count| count.slot)
    }

    /// How many came in all.
    pub fn arrivals(&self) -> u64 {
        self.counts.iter().map(|count| count.arrivals).sum()
    }

    /// From the first slot to the end of the last.
    pub fn span(&self) -> Duration {
        match (self.counts.first(), self.counts.last()) {
            (Some(first), Some(last)) => self.after(last.slot - first.slot + 1),
            _ => Duration::ZERO,
        }
    }

    /// Every arrival in order; `assumed` has what is assumed of each deployment.
    /// Those of one slot, deployment by deployment, come together.
    pub fn replay(&self, assumed: &[Assumptions], mut each: impl FnMut(Arrival)) {
        let first = self.first_slot().unwrap_or_default();
        for slot in self.slots() {
            let begin = self.after(slot[0].slot - first);
            let mut arrivals: Vec<Arrival> = slot
                .iter()
                .flat_map(|count| self.spread(count, begin, assumed))
                .collect();
            arrivals.sort_by_key(|arrival| arrival.at);
            arrivals.into_iter().for_each(&mut each);
        }
    }

    fn spread(
        &self,
        count: &SlotCount,
        begin: Duration,
        assumed: &[Assumptions],
    ) -> impl Iterator<Item = Arrival> {
        let place = self.deployments.binary_search(&count.deployment);
        let deployment = place.unwrap_or_default();
        let work = assumed.get(deployment).map(|it| it.model.work);
        let service = work.unwrap_or_default().service;
        let gap = self.slot.as_secs_f64() / count.arrivals.max(1) as f64;
        (0..count.arrivals).map(move |i| Arrival {
            at: Moment::from_origin(begin + Duration::from_secs_f64(gap * (i as f64 + 0.5))),
            service,
            deployment,
        })
    }

    fn after(&self, slots: u64) -> Duration {
        self.slot * u32::try_from(slots).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(counts: &[(u64, &str, u64)]) -> Ledger {
        let counts = counts.iter().map(|(slot, name, arrivals)| SlotCount {
            slot: *slot,
            deployment: (*name).to_owned(),
            arrivals: *arrivals,
        });
        Ledger::new(Duration::from_secs(10), counts.collect())
    }

    fn times(ledger: &Ledger) -> Vec<(u64, usize)> {
        let mut times = Vec::new();
        ledger.replay(&[], |it| {
            let at = it.at.since(Moment::ORIGIN);
            times.push((at.as_millis() as u64, it.deployment));
        });
        times
    }

    #[test]
    fn arrivals_are_spread_evenly_and_come_in_order() {
        let ledger = ledger(&[(102, "a", 1), (100, "b", 2), (100, "a", 1)]);
        assert_eq!(ledger.deployments(), ["a", "b"]);
        assert_eq!(ledger.arrivals(), 4);
        assert_eq!(ledger.span(), Duration::from_secs(30));
        assert_eq!(
            times(&ledger),
            [(2_500, 1), (5_000, 0), (7_500, 1), (25_000, 0)]
        );
    }

    #[test]
    fn of_too_many_the_newest_are_kept() {
        let mut ledger = ledger(&[(1, "a", 5), (2, "a", 3), (3, "a", 2)]);
        ledger.keep_newest(6);
        assert_eq!((ledger.first_slot(), ledger.arrivals()), (Some(2), 5));
        ledger.keep_newest(1);
        assert_eq!((ledger.first_slot(), ledger.span()), (None, Duration::ZERO));
    }

    #[test]
    fn a_slot_is_kept_for_all_deployments_or_for_none() {
        let counts = [
            (1, "a", 9),
            (2, "a", 4),
            (2, "b", 4),
            (2, "c", 1),
            (3, "b", 2),
        ];
        let kept = |most| {
            let mut ledger = ledger(&counts);
            ledger.keep_newest(most);
            (ledger.first_slot(), ledger.arrivals())
        };
        assert_eq!(kept(20), (Some(1), 20));
        assert_eq!(kept(11), (Some(2), 11));
        assert_eq!(kept(10), (Some(3), 2), "two of the three would fit");
    }
}
