use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::fleet::{NotReplayable, may_replay};

const LONG: Duration = Duration::from_secs(600);

fn attempt(worker: &str, kind: FailureKind) -> Attempt<'_> {
    Attempt {
        worker,
        kind,
        status: None,
    }
}

fn bury(class: Class) -> AfterFailure {
    AfterFailure::Bury { class }
}

/// What is done with a job after each of `history`, in turn.
fn dialogue(history: &[Attempt], patience: &Patience) -> Vec<AfterFailure> {
    (1..=history.len())
        .map(|n| after_failure(n as u32, &history[..n], patience, LONG, 7))
        .collect()
}

fn delays(answers: &[AfterFailure]) -> Vec<Duration> {
    answers
        .iter()
        .filter_map(|answer| match answer {
            AfterFailure::Retry { after } => Some(*after),
            AfterFailure::Bury { .. } => None,
        })
        .collect()
}

#[test]
fn b31_attempts_are_spaced_and_bounded() {
    let patience = Patience {
        max_attempts: 5,
        ..Patience::default()
    };
    let always = [attempt("a", FailureKind::RuntimeFailed); 5];
    let answers = dialogue(&always, &patience);
    assert_eq!(answers[4], bury(Class::Transient));
    let delays = delays(&answers);
    assert_eq!(delays.len(), 4, "one retry after each attempt but the last");
    assert!(
        delays.windows(2).all(|pair| pair[0] < pair[1]),
        "{delays:?}"
    );
    let outage = Duration::from_secs(3);
    assert!(delays.iter().sum::<Duration>() > outage, "{delays:?}");
}

#[test]
fn a_job_that_kills_two_workers_never_reaches_a_third() {
    let deaths = [
        attempt("a", FailureKind::RuntimeDied),
        attempt("b", FailureKind::RuntimeDied),
    ];
    let answers = dialogue(&deaths, &Patience::default());
    assert!(matches!(answers[0], AfterFailure::Retry { .. }));
    assert_eq!(answers[1], bury(Class::Poison));
    let lost = [
        attempt("a", FailureKind::WorkerLost),
        attempt("b", FailureKind::RuntimeDied),
    ];
    assert_eq!(classify(&lost), Class::Poison);
}

#[test]
fn one_worker_that_dies_twice_is_no_poison() {
    let same = [attempt("a", FailureKind::RuntimeDied); 3];
    assert_eq!(classify(&same), Class::Transient);
    let once = [
        attempt("a", FailureKind::WorkerLost),
        attempt("b", FailureKind::TimedOut),
        attempt("c", FailureKind::OutOfCapacity),
    ];
    let answers = dialogue(&once, &Patience::default());
    assert_eq!(answers[2], bury(Class::Transient));
}

#[test]
fn what_is_wrong_for_good_costs_one_attempt() {
    let wrong = [
        attempt("a", FailureKind::Rejected),
        attempt("a", FailureKind::Incompatible),
        Attempt {
            status: Some(501),
            ..attempt("a", FailureKind::RuntimeFailed)
        },
    ];
    for failure in wrong {
        let answers = dialogue(&[failure], &Patience::default());
        assert_eq!(answers, [bury(Class::Deterministic)], "{failure:?}");
    }
    for status in [408, 425, 429] {
        let not_now = Attempt {
            status: Some(status),
            ..attempt("a", FailureKind::Rejected)
        };
        assert_eq!(classify(&[not_now]), Class::Transient, "{status}");
    }
}

#[test]
fn a_retry_that_would_miss_the_deadline_is_not_waited_for() {
    let failed = [attempt("a", FailureKind::OutOfCapacity)];
    let answer = |left| after_failure(1, &failed, &Patience::default(), left, 7);
    assert_eq!(answer(Duration::from_millis(200)), bury(Class::Transient));
    assert!(matches!(answer(LONG), AfterFailure::Retry { .. }));
}

#[test]
fn deliveries_that_nobody_lived_to_tell_of_count() {
    let told = [attempt("c", FailureKind::TimedOut)];
    let answer = after_failure(3, &told, &Patience::default(), LONG, 7);
    assert_eq!(answer, bury(Class::Transient));
}

#[test]
fn only_what_is_transient_may_be_replayed() {
    assert_eq!(may_replay(Class::Transient), Ok(()));
    assert_eq!(
        may_replay(Class::Deterministic),
        Err(NotReplayable::Deterministic)
    );
    assert_eq!(may_replay(Class::Poison), Err(NotReplayable::Poison));
}

proptest! {
    #[test]
    fn back_off_grows_until_the_longest_whatever_chance_says(
        seed in any::<u64>(),
        first in 1u64..10_000,
        longest in 1u64..100_000,
    ) {
        let patience = Patience {
            max_attempts: 40,
            first: Duration::from_millis(first),
            longest: Duration::from_millis(longest),
        };
        for attempts in 1..40 {
            let now = back_off(attempts, &patience, seed);
            let next = back_off(attempts + 1, &patience, seed.wrapping_add(1));
            let whole = patience.first.saturating_mul(1 << attempts.min(31));
            prop_assert!(now <= patience.longest);
            prop_assert!(next > now || whole > patience.longest);
        }
    }
}
