use std::collections::BTreeSet;
use std::time::Duration;

use super::Class;
use super::identity::{mix, unit};

/// What kind of failure an attempt ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The runtime's process died with the job in hand.
    RuntimeDied,
    /// The worker went silent with the job in hand. A lost connection alone is not that.
    WorkerLost,
    /// The model could not be loaded now.
    OutOfCapacity,
    /// The model cannot be loaded at all.
    Incompatible,
    /// The runtime did not answer in time.
    TimedOut,
    /// The runtime answered a 5xx, or broke off.
    RuntimeFailed,
    /// The runtime said that the request is wrong.
    Rejected,
}

impl FailureKind {
    /// The word used in REST.
    pub const fn as_str(self) -> &'static str {
        match self {
            FailureKind::RuntimeDied => "runtime_died",
            FailureKind::WorkerLost => "worker_lost",
            FailureKind::OutOfCapacity => "out_of_capacity",
            FailureKind::Incompatible => "incompatible",
            FailureKind::TimedOut => "timed_out",
            FailureKind::RuntimeFailed => "runtime_failed",
            FailureKind::Rejected => "rejected",
        }
    }
}

/// One failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt<'a> {
    /// The worker that had the job.
    pub worker: &'a str,
    /// What kind of failure.
    pub kind: FailureKind,
    /// The runtime's status, where it gave one.
    pub status: Option<u16>,
}

/// How often and at what distance a job is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Attempts in all; 0 counts as 1.
    pub max_attempts: u32,
    /// The back-off after the first attempt. It doubles with each.
    pub first: Duration,
    /// The longest back-off.
    pub longest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            max_attempts: 3,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
        }
    }
}

/// What becomes of a job after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// Back into its queue, to be delivered again.
    Retry {
        /// After this long.
        after: Duration,
    },
    /// Among the dead letters.
    Bury {
        /// What its failures say.
        class: Class,
    },
}

/// What becomes of a job that has failed `attempts` times, the last of them as
/// the last of `history` says, and that has `remaining` until its deadline.
///
/// `attempts` is the message's own count, deliveries to workers that died
/// included; `history` holds those failures that somebody lived to tell. `seed`
/// spreads jobs that failed together.
pub fn after_failure(
    attempts: u32,
    history: &[Attempt],
    patience: &Patience,
    remaining: Duration,
    seed: u64,
) -> AfterFailure {
    let class = classify(history);
    let after = back_off(attempts, patience, seed);
    let over = attempts >= patience.max_attempts.max(1) || after >= remaining;
    if class != Class::Transient || over {
        return AfterFailure::Bury { class };
    }
    AfterFailure::Retry { after }
}

/// What a job's failures say about trying it again.
///
/// *Poison* when it was in hand as the runtimes, or the workers themselves, of two
/// workers died: one alone may have died for its own reasons. *Deterministic*
/// when the last failure is bound to come again. Else *transient*.
pub fn classify(history: &[Attempt]) -> Class {
    let deaths: BTreeSet<&str> = history
        .iter()
        .filter(|attempt| is_death(attempt.kind))
        .map(|attempt| attempt.worker)
        .collect();
    if deaths.len() >= 2 {
        return Class::Poison;
    }
    match history.last() {
        Some(last) if recurs(last) => Class::Deterministic,
        _ => Class::Transient,
    }
}

const fn is_death(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::RuntimeDied | FailureKind::WorkerLost)
}

/// Whether the same attempt is bound to end the same way. 408, 425 and 429 say
/// "not now" (RFC 9110 §15.5.9, RFC 8470, RFC 6585), 501 and 505 "never here".
fn recurs(attempt: &Attempt) -> bool {
    match (attempt.kind, attempt.status) {
        (FailureKind::Incompatible, _) => true,
        (FailureKind::Rejected, status) => !matches!(status, Some(408 | 425 | 429)),
        (FailureKind::RuntimeFailed, status) => matches!(status, Some(501 | 505)),
        _ => false,
    }
}

/// `first × 2^(attempts − 1)`, at most `longest`, less up to a quarter by
/// chance. So it grows with each attempt whatever chance says.
fn back_off(attempts: u32, patience: &Patience, seed: u64) -> Duration {
    let doublings = attempts.saturating_sub(1).min(31);
    let whole = patience.first.saturating_mul(1 << doublings);
    let chance = unit(mix(seed ^ u64::from(attempts)));
    whole.min(patience.longest).mul_f64(1.0 - chance / 4.0)
}

#[cfg(test)]
mod tests;
