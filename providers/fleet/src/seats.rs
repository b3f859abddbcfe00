//! Which workers may hold a deployment that has a cap: as many as there are seats.
//!
//! A claim takes one. Workers choose by what they last heard of each other, and
//! so several may choose at once; claims come one after the other.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_policy::fleet::{Identity, outranks};
use thermocline_wire::fleet::Refusal;

/// How long a worker keeps its seat that claims nothing and does not say that it
/// holds the model: its report may be on its way.
const UNREPORTED: Duration = Duration::from_secs(6);

/// The seats that are taken, by deployment and worker, and when they last were.
#[derive(Default)]
pub(crate) struct Seats(HashMap<Arc<str>, BTreeMap<String, Moment>>);

impl Seats {
    /// Gives `worker` one of `cap` seats, or lets it keep its own; whether it is
    /// a new one. `holders` say that they hold the model: each counts, seat or
    /// none. Of several without one that hold it already, the better lot counts.
    ///
    /// # Errors
    /// [`Refusal::Capped`] where others have them all.
    pub(crate) fn take(
        &mut self,
        (deployment, cap): (&Arc<str>, usize),
        worker: &str,
        holders: &[String],
        now: Moment,
    ) -> Result<bool, Refusal> {
        let seats = self.0.entry(deployment.clone()).or_default();
        seats.retain(|name, since| now.since(*since) < UNREPORTED || holders.contains(name));
        let anew = !seats.contains_key(worker);
        let queue = Identity::of(deployment);
        let holds = holders.iter().any(|holder| holder == worker);
        let comes_first = |other: &&String| {
            let outranked = || outranks(Identity::of(other), Identity::of(worker), queue);
            *other != worker && !seats.contains_key(*other) && (!holds || outranked())
        };
        let taken = seats.len() + holders.iter().filter(comes_first).count();
        if anew && taken >= cap {
            return Err(Refusal::Capped);
        }
        seats.insert(worker.to_owned(), now);
        Ok(anew)
    }

    /// `worker` does not hold it after all.
    pub(crate) fn leave(&mut self, deployment: &str, worker: &str) {
        if let Some(seats) = self.0.get_mut(deployment) {
            seats.remove(worker);
        }
    }

    /// `worker` has ended, and holds nothing.
    pub(crate) fn vacate(&mut self, worker: &str) {
        for seats in self.0.values_mut() {
            seats.remove(worker);
        }
    }

    /// Forgets `deployment`, which is gone.
    pub(crate) fn forget(&mut self, deployment: &str) {
        self.0.remove(deployment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: &[&str] = &[];

    /// The seats of one deployment, of which there are `cap`.
    struct Row(Seats, usize);

    impl Row {
        fn takes(&mut self, worker: &str, holders: &[&str], second: u64) -> bool {
            let holders: Vec<String> = holders.iter().map(|it| (*it).to_owned()).collect();
            let now = Moment::from_origin(Duration::from_secs(second));
            let taken = self.0.take((&"m".into(), self.1), worker, &holders, now);
            taken.is_ok()
        }
    }

    #[test]
    fn of_workers_that_choose_at_once_as_many_get_it_as_may() {
        let mut row = Row(Seats::default(), 2);
        let got = ["a", "b", "c", "a", "d", "b"].map(|worker| row.takes(worker, NOBODY, 0));
        assert_eq!(got, [true, true, false, true, false, true]);
    }

    #[test]
    fn a_seat_is_kept_while_its_worker_holds_the_model_and_free_once_it_does_not() {
        let mut row = Row(Seats::default(), 1);
        assert!(row.takes("a", NOBODY, 0));
        assert!(!row.takes("b", NOBODY, 5));
        assert!(!row.takes("b", &["a"], 60));
        assert!(row.takes("b", NOBODY, 61));
        assert!(!row.takes("a", NOBODY, 61));
        row.0.leave("m", "b");
        assert!(row.takes("a", NOBODY, 61));
        assert!(!row.takes("b", NOBODY, 62));
        row.0.vacate("a");
        assert!(row.takes("b", NOBODY, 62));
    }

    #[test]
    fn who_holds_it_without_a_seat_counts_too() {
        let mut row = Row(Seats::default(), 1);
        assert!(
            !row.takes("b", &["a"], 0),
            "as after a start of the gateway"
        );
        assert!(row.takes("a", &["a"], 0));
        let mut both = ["a", "b"].map(|worker| {
            let mut row = Row(Seats::default(), 1);
            row.takes(worker, &["a", "b"], 0)
        });
        both.sort_unstable();
        assert_eq!(both, [false, true], "one of the two, whoever asks first");
    }
}
