use std::cmp::Ordering;
use std::time::Duration;

use super::identity::unit;
use super::{QueueView, Residence, Terms, WorkerView, standing};
use crate::Moment;

/// How a worker weighs what speaks for a queue. The defaults are what the
/// simulation of a thousand models (`router/simulate/tests/fleet`) bears out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scoring {
    /// What a model that is there already counts.
    pub warmth: f64,
    /// What endless pressure counts.
    pub pressure: f64,
    /// What a queue that was served just now counts.
    pub stickiness: f64,
    /// The most that chance counts.
    pub noise: f64,
    /// Jobs per consumer at which pressure counts half; above 0.
    pub half_pressure: f64,
    /// After how long stickiness counts half.
    pub half_stickiness: Duration,
    /// How long chance stays as it fell.
    pub noise_window: Duration,
    /// The score from which a queue is joined.
    pub join: f64,
    /// The score below which it is left: much less than `join`.
    pub leave: f64,
    /// How long a worker waits for each other that should take a queue first: a
    /// little more than reports lag.
    pub stagger: Duration,
    /// How long a job may wait before preemptible work makes room for it.
    pub yield_after: Duration,
}

impl Default for Scoring {
    fn default() -> Self {
        Scoring {
            warmth: 1.0,
            pressure: 1.0,
            stickiness: 0.3,
            noise: 0.1,
            half_pressure: 8.0,
            half_stickiness: Duration::from_secs(60),
            noise_window: Duration::from_secs(30),
            join: 0.5,
            leave: 0.15,
            stagger: Duration::from_secs(3),
            yield_after: Duration::from_secs(1),
        }
    }
}

/// How much a worker wants a queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Score {
    /// By what speaks for it; higher is better.
    Weighed(f64),
    /// Jobs wait and nobody serves it: before everything else, the longest wait first.
    Starving(Duration),
}

impl Score {
    /// Whether it reaches `threshold`; a starving queue always does.
    pub fn reaches(self, threshold: f64) -> bool {
        match self {
            Score::Weighed(score) => score >= threshold,
            Score::Starving(_) => true,
        }
    }

    /// Which of two a worker would rather serve; the greater is wanted more.
    pub fn order(&self, other: &Score) -> Ordering {
        match (self, other) {
            (Score::Weighed(mine), Score::Weighed(theirs)) => mine.total_cmp(theirs),
            (Score::Starving(mine), Score::Starving(theirs)) => mine.cmp(theirs),
            (Score::Weighed(_), Score::Starving(_)) => Ordering::Less,
            (Score::Starving(_), Score::Weighed(_)) => Ordering::Greater,
        }
    }
}

/// How much `worker` wants `queue`, whose terms are `terms`.
///
/// The blend and its overrides are those of Roboflow's "Serverless Inference: A
/// Thousand Models on a Shared GPU Fleet" (2026). What is added is that a
/// worker counts those who would take the queue before it as if they already
/// had: a burst draws in as many workers as it is worth, not all at once.
pub fn score(
    worker: &WorkerView,
    queue: &QueueView,
    terms: &Terms,
    scoring: &Scoring,
    now: Moment,
) -> Score {
    let ahead = ahead(worker, queue, terms, scoring);
    if ahead == 0 && starves(queue) {
        return Score::Starving(queue.oldest);
    }
    Score::Weighed(
        scoring.warmth * warmth(queue, terms)
            + scoring.pressure * pressure(queue, ahead, scoring)
            + scoring.stickiness * stickiness(queue, scoring, now)
            + scoring.noise * noise(worker, queue, scoring, now),
    )
}

/// Whether jobs wait in `queue` and nobody has or loads its model. Whoever has
/// joined it and has not loaded it yet does not let go of it for that.
fn starves(queue: &QueueView) -> bool {
    queue.waiting > 0 && queue.holders.is_empty() && queue.residence == Residence::Absent
}

/// How many others are still expected to take `queue` before this worker; none
/// where it has the model. Each is given up when the oldest job has waited a
/// stagger longer.
pub(super) fn ahead(
    worker: &WorkerView,
    queue: &QueueView,
    terms: &Terms,
    scoring: &Scoring,
) -> usize {
    let there = queue.subscribed || queue.residence != Residence::Absent;
    if there || queue.waiting == 0 {
        return 0;
    }
    let given_up = queue.oldest.as_nanos() / scoring.stagger.as_nanos().max(1);
    let given_up = usize::try_from(given_up).unwrap_or(usize::MAX);
    standing::ahead(worker, queue, terms).saturating_sub(given_up)
}

fn warmth(queue: &QueueView, terms: &Terms) -> f64 {
    let warm = terms.pinned || queue.residence != Residence::Absent;
    f64::from(u8::from(warm))
}

/// Jobs per consumer, from 0 to 1.
fn pressure(queue: &QueueView, ahead: usize, scoring: &Scoring) -> f64 {
    let consumers = queue.holders.len() + usize::from(queue.subscribed) + ahead;
    let each = f64::from(queue.waiting) / consumers.max(1) as f64;
    each / (each + scoring.half_pressure)
}

fn stickiness(queue: &QueueView, scoring: &Scoring, now: Moment) -> f64 {
    let Some(served) = queue.last_served else {
        return 0.0;
    };
    let half_life = scoring.half_stickiness.as_secs_f64().max(f64::MIN_POSITIVE);
    (-now.since(served).as_secs_f64() / half_life).exp2()
}

/// The same for a whole window, and another for each worker and queue.
fn noise(worker: &WorkerView, queue: &QueueView, scoring: &Scoring, now: Moment) -> f64 {
    let length = scoring.noise_window.as_nanos().max(1);
    let window = u128::from(now.nanos()) / length;
    // Window 0 is the lot that never changes.
    unit(worker.reported.id.lot(queue.id, window as u64 + 1))
}
