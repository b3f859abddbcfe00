use std::time::Duration;

use crate::Moment;

/// A job that waits, or the first job of a queue that does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting<'a> {
    /// The deployment.
    pub model: &'a str,
    /// Since when it waits.
    pub since: Moment,
    /// Whether it can be run without loading anything.
    pub warm: bool,
}

/// Puts jobs of one model together, within a bounded wait: `A B A A B C` costs
/// three loads and not six.
///
/// As long as the job whose turn it is needs a load, jobs that need none go
/// first; but no longer than the bound. Within a model the order stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regroup {
    bound: Duration,
    turn: Option<Turn>,
}

/// Whose turn it is, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Turn {
    model: String,
    since: Moment,
    began: Moment,
}

impl Regroup {
    /// Jobs may be passed over for `bound` once it is their turn.
    pub const fn new(bound: Duration) -> Self {
        Regroup { bound, turn: None }
    }

    /// Which of `waiting`, the longest wait first, is next at `now`; `None` when
    /// nothing waits.
    pub fn next(&mut self, waiting: &[Waiting], now: Moment) -> Option<usize> {
        let Some(first) = waiting.first() else {
            self.turn = None;
            return None;
        };
        let overdue = now.since(self.began(first, now)) >= self.bound;
        if first.warm || overdue {
            return Some(0);
        }
        let warm = waiting.iter().position(|job| job.warm);
        Some(warm.unwrap_or(0))
    }

    /// When it became the turn of `first`.
    fn began(&mut self, first: &Waiting, now: Moment) -> Moment {
        let same = |turn: &&Turn| turn.model == first.model && turn.since == first.since;
        if let Some(turn) = self.turn.as_ref().filter(same) {
            return turn.began;
        }
        self.turn = Some(Turn {
            model: first.model.to_owned(),
            since: first.since,
            began: now,
        });
        now
    }
}

#[cfg(test)]
mod tests;
