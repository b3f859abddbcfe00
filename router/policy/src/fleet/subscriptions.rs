use super::score::ahead;
use super::{QueueView, Residence, Score, Scoring, Terms, WorkerView, score, standing};
use crate::Moment;

/// What a worker changes about the queues that it serves.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes<'a> {
    /// To be left, before anything is joined.
    pub leave: Vec<Leave<'a>>,
    /// To be joined, the most wanted first.
    pub join: Vec<Join<'a>>,
}

/// A queue to be joined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Join<'a> {
    /// The deployment.
    pub queue: &'a str,
    /// How much it is wanted.
    pub score: Score,
    /// Whether its model has to be loaded: each takes one of the worker's bucket.
    pub cold: bool,
}

/// A queue to be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leave<'a> {
    /// The deployment.
    pub queue: &'a str,
    /// Why.
    pub reason: LeaveReason,
}

/// Why a queue is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeaveReason {
    /// Its deployment is gone.
    Gone,
    /// It is for other workers, or its model can never fit here.
    Unfit,
    /// As many workers as may serve it have a better lot.
    OverCap,
    /// It is preemptible, and other work waits.
    Yields,
    /// Little speaks for it any more.
    Cooled,
}

/// Which queues `worker` leaves and joins at `now`, of all `queues` that have
/// work waiting anywhere or that it serves or holds.
///
/// * A worker serves what it holds, what is pinned, and what is under pressure.
///   A queue that has jobs and no consumer anywhere comes before everything.
/// * It leaves at a much lower score than it joins at, so it does not flap.
/// * It joins at most `worker.cold` queues whose models it would have to load.
/// * At most `max_workers` serve a queue that is not pinned. Whoever joins
///   counts those that would take it first as if they had. Two that join at once
///   all the same, because neither had heard of the other, hear of each other
///   with the next reports; then the one with the better lot stays.
/// * Preemptible queues are left while other work waits that it could do.
pub fn subscriptions<'a>(
    worker: &WorkerView,
    queues: &[QueueView<'a>],
    scoring: &Scoring,
    now: Moment,
) -> Changes<'a> {
    let pressing = queues.iter().any(|queue| presses(worker, queue, scoring));
    let mut changes = Changes::default();
    for queue in queues {
        match (
            queue.subscribed,
            verdict(worker, queue, scoring, pressing, now),
        ) {
            (true, Verdict::Refused(reason)) => changes.leave.push(Leave {
                queue: queue.queue,
                reason,
            }),
            (true, Verdict::Wanted(score)) if !score.reaches(scoring.leave) => {
                changes.leave.push(Leave {
                    queue: queue.queue,
                    reason: LeaveReason::Cooled,
                });
            }
            (false, Verdict::Wanted(score)) if score.reaches(scoring.join) => {
                changes.join.push(Join {
                    queue: queue.queue,
                    score,
                    cold: queue.residence == Residence::Absent,
                });
            }
            _ => {}
        }
    }
    changes.join.sort_by(|a, b| b.score.order(&a.score));
    limit_cold(&mut changes.join, worker.cold);
    changes
}

/// Keeps the first `allowed` of the cold ones.
fn limit_cold(joins: &mut Vec<Join>, mut allowed: u32) {
    joins.retain(|join| {
        if !join.cold {
            return true;
        }
        let kept = allowed > 0;
        allowed = allowed.saturating_sub(1);
        kept
    });
}

enum Verdict {
    Refused(LeaveReason),
    Wanted(Score),
}

fn verdict(
    worker: &WorkerView,
    queue: &QueueView,
    scoring: &Scoring,
    pressing: bool,
    now: Moment,
) -> Verdict {
    let Some(terms) = queue.terms else {
        return Verdict::Refused(LeaveReason::Gone);
    };
    if !fits(worker, queue, terms) {
        return Verdict::Refused(LeaveReason::Unfit);
    }
    if over_cap(worker, queue, terms, scoring) {
        return Verdict::Refused(LeaveReason::OverCap);
    }
    if terms.preemptible && pressing {
        return Verdict::Refused(LeaveReason::Yields);
    }
    Verdict::Wanted(score(worker, queue, terms, scoring, now))
}

/// Whether the model of `queue` is for this worker, and is here or could ever be
/// loaded: a pinned one leaves no second place of its size, and has its own.
fn fits(worker: &WorkerView, queue: &QueueView, terms: &Terms) -> bool {
    let able = |device: &&super::Mib| **device >= terms.share();
    let is_here = queue.residence != Residence::Absent;
    let has_room = || worker.devices.iter().filter(able).count() >= terms.spread();
    worker.reported.shape == terms.shape && (is_here || has_room())
}

/// Whether the cap leaves no place for this worker.
fn over_cap(worker: &WorkerView, queue: &QueueView, terms: &Terms, scoring: &Scoring) -> bool {
    let Some(cap) = terms.cap() else {
        return false;
    };
    if queue.subscribed {
        standing::outranked(worker, queue) >= cap
    } else {
        queue.holders.len() + ahead(worker, queue, terms, scoring) >= cap
    }
}

/// Whether `queue` has work of this worker's that preemptible work should make room for.
fn presses(worker: &WorkerView, queue: &QueueView, scoring: &Scoring) -> bool {
    let waits = queue.waiting > 0 && queue.oldest >= scoring.yield_after;
    waits
        && queue.terms.is_some_and(|terms| {
            !terms.preemptible
                && fits(worker, queue, terms)
                && !over_cap(worker, queue, terms, scoring)
        })
}

#[cfg(test)]
mod tests;
