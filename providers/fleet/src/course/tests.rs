use std::time::Duration;

use super::*;

fn claim(worker: &str, attempts: u32) -> Claim {
    Claim {
        worker: worker.to_owned(),
        incarnation: "1".to_owned(),
        ticket: String::new(),
        attempts,
    }
}

fn at(seconds: u64) -> Moment {
    Moment::from_origin(Duration::from_secs(seconds))
}

fn failure(worker: &str, kind: FailureKind) -> Failure {
    Failure {
        run: String::new(),
        worker: worker.to_owned(),
        kind,
        status: None,
        detail: String::new(),
        last: false,
    }
}

/// A course whose claims are judged with what is said of every holder.
struct Told(Course, u32);

impl Told {
    fn new() -> Self {
        Told(Course::default(), 0)
    }

    fn claims(&mut self, worker: &str, attempts: u32, life: Life) -> Verdict {
        self.1 += 1;
        let run = format!("run {}", self.1);
        self.0
            .claim(&claim(worker, attempts), ("account", run), |_| life)
    }

    fn granted(&mut self, worker: &str, attempts: u32, life: Life) {
        let verdict = self.claims(worker, attempts, life);
        assert!(matches!(verdict, Verdict::Granted { .. }), "{verdict:?}");
    }

    fn refused(&mut self, worker: &str, attempts: u32, life: Life, refusal: Refusal) {
        let verdict = self.claims(worker, attempts, life);
        assert_eq!(verdict, Verdict::Refused(refusal));
    }

    fn cut(&mut self) {
        let run = self.0.holder.as_ref().unwrap().run.clone();
        self.0.part(&run, at(1));
    }
}

#[test]
fn an_attempt_is_granted_once() {
    let mut told = Told::new();
    told.granted("a", 0, Life::Unknown);
    told.refused("b", 0, Life::Unknown, Refusal::Superseded);
    assert!(told.0.is_in_force("run 1", "account"));
    assert!(!told.0.is_in_force("run 1", "another account"));
}

#[test]
fn a_holder_that_asks_again_is_granted_again() {
    let mut told = Told::new();
    told.granted("a", 0, Life::Unknown);
    told.cut();
    told.granted("a", 0, Life::Unknown);
    assert!(told.0.is_in_force("run 2", "account"));
    told.refused("b", 0, Life::Unknown, Refusal::Superseded);
    told.cut();
    told.granted("b", 1, Life::Unknown);
}

#[test]
fn a_later_attempt_waits_for_a_holder_that_lives_and_takes_the_place_of_a_silent_one() {
    let mut told = Told::new();
    told.granted("a", 0, Life::Lives);
    told.refused("b", 1, Life::Lives, Refusal::Undecided);
    told.refused("b", 1, Life::Unknown, Refusal::Undecided);
    told.refused("a", 1, Life::Lives, Refusal::Undecided);
    assert!(told.0.is_in_force("run 1", "account"));
    let Verdict::Granted { over } = told.claims("b", 1, Life::Died) else {
        panic!("not granted");
    };
    assert_eq!(over.unwrap().worker, "a");
    assert!(!told.0.is_in_force("run 1", "account"));
    told.refused("a", 0, Life::Lives, Refusal::Superseded);
    assert!(told.0.failures().is_empty(), "nobody died");
}

#[test]
fn a_second_holder_need_not_wait_for_news_of_the_first() {
    let mut told = Told::new();
    told.granted("a", 0, Life::Unknown);
    told.cut();
    told.granted("b", 1, Life::Unknown);
}

#[test]
fn two_dead_holders_are_poison_and_there_is_never_a_third() {
    let mut told = Told::new();
    told.granted("a", 0, Life::Unknown);
    told.cut();
    told.granted("b", 1, Life::Unknown);
    told.cut();
    told.refused("c", 2, Life::Unknown, Refusal::Undecided);
    told.refused("c", 2, Life::Died, Refusal::Poison);
    told.refused("c", 3, Life::Lives, Refusal::Poison);
    let kinds: Vec<_> = told
        .0
        .failures()
        .iter()
        .map(|f| (f.worker.as_str(), f.kind))
        .collect();
    let lost = FailureKind::WorkerLost;
    assert_eq!(kinds, [("a", lost), ("b", lost)]);
}

#[test]
fn two_dead_holders_are_poison_although_nobody_asks() {
    let mut told = Told::new();
    told.granted("a", 0, Life::Unknown);
    told.cut();
    told.granted("b", 1, Life::Unknown);
    assert!(
        !told.0.is_lost(|_| Life::Died),
        "the second one has it in hand"
    );
    told.cut();
    assert!(!told.0.is_lost(|_| Life::Unknown));
    let first_died = |holder: &Holder| match holder.worker.as_str() {
        "a" => Life::Died,
        _ => Life::Unknown,
    };
    assert!(!told.0.is_lost(first_died));
    assert!(told.0.failures().is_empty() && told.0.holder.is_some());
    assert!(told.0.is_lost(|_| Life::Died));
    assert_eq!(told.0.failures().len(), 2);
}

#[test]
fn a_dead_runtime_and_a_dead_worker_are_poison_although_nobody_asks() {
    let mut told = Told::new();
    told.granted("a", 0, Life::Lives);
    told.0.fail(failure("a", FailureKind::RuntimeDied));
    told.granted("b", 1, Life::Lives);
    assert!(!told.0.is_lost(|_| Life::Died));
    told.cut();
    assert!(told.0.is_lost(|_| Life::Died));
}

#[test]
fn lost_connections_alone_are_no_poison() {
    let mut told = Told::new();
    for attempt in 0..10 {
        told.granted("a", attempt, Life::Lives);
        told.cut();
    }
    assert!(!told.0.is_poison());
}

#[test]
fn one_dead_holder_is_no_poison() {
    let mut told = Told::new();
    told.granted("a", 0, Life::Unknown);
    told.cut();
    told.granted("b", 1, Life::Died);
    told.cut();
    told.granted("c", 2, Life::Lives);
    assert_eq!(told.0.failures().len(), 1);
}

#[test]
fn a_runtime_that_dies_on_two_workers_is_poison_and_twice_on_one_is_not() {
    let mut told = Told::new();
    told.granted("a", 0, Life::Lives);
    told.0.fail(failure("a", FailureKind::RuntimeDied));
    told.granted("a", 1, Life::Lives);
    told.0.fail(failure("a", FailureKind::RuntimeDied));
    assert!(!told.0.is_poison());
    told.granted("b", 2, Life::Lives);
    told.0.fail(failure("b", FailureKind::RuntimeDied));
    told.refused("c", 3, Life::Lives, Refusal::Poison);
}

#[test]
fn what_failed_may_be_given_back_uncounted() {
    let mut told = Told::new();
    told.granted("a", 0, Life::Lives);
    told.0.fail(failure("a", FailureKind::OutOfCapacity));
    assert!(told.0.holder.is_none());
    told.granted("b", 0, Life::Lives);
}

#[test]
fn attempts_are_what_was_granted_and_who_asks_again_or_too_late_makes_none() {
    let mut told = Told::new();
    told.granted("a", 0, Life::Unknown);
    told.granted("a", 0, Life::Unknown);
    assert_eq!(told.0.attempts(), 1);
    told.cut();
    told.granted("b", 1, Life::Unknown);
    told.cut();
    told.refused("c", 2, Life::Died, Refusal::Poison);
    assert_eq!((told.0.attempts(), told.0.failures().len()), (2, 2));
}
