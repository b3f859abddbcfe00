use bytes::Bytes;
use thermocline_provider::fleet::FleetResult;
use thermocline_wire::fleet::FailureKind;
use tokio::sync::oneshot::error::TryRecvError;

use super::*;
use crate::payload::whole;
use crate::room::Lounge;

const MINUTE: Duration = Duration::from_secs(60);

fn at(seconds: u64) -> Moment {
    Moment::from_origin(Duration::from_secs(seconds))
}

/// A lot with a client for each request.
struct Scene {
    lot: Lot,
    lounge: Arc<Lounge>,
}

impl Scene {
    fn new() -> Self {
        Scene {
            lot: Lot::new(MINUTE),
            lounge: Lounge::new(100, 1_000),
        }
    }

    fn park(&mut self, id: &str, arrived: u64) -> oneshot::Receiver<Reply> {
        let (tell, told) = oneshot::channel();
        let parked = Parked {
            id: id.to_owned(),
            deployment: "m".into(),
            ticket: "ticket".to_owned(),
            method: "POST".to_owned(),
            target: "/".to_owned(),
            headers: Vec::new(),
            payload: whole(Bytes::from_static(b"1234"), &self.lounge).unwrap(),
            traceparent: None,
            arrived: at(arrived),
            deadline: at(arrived) + MINUTE,
        };
        self.lot.park(Arc::new(parked), tell);
        told
    }

    fn claim(
        &mut self,
        id: &str,
        worker: &str,
        attempts: u32,
        now: u64,
    ) -> Result<Granted, Refusal> {
        self.claim_after(id, worker, attempts, now, Life::Lives)
    }

    /// A claim after a holder of whom that is known.
    fn claim_after(
        &mut self,
        id: &str,
        worker: &str,
        attempts: u32,
        now: u64,
        life: Life,
    ) -> Result<Granted, Refusal> {
        let claim = Claim {
            worker: worker.to_owned(),
            incarnation: "1".to_owned(),
            ticket: "ticket".to_owned(),
            attempts,
        };
        let run = format!("{worker} {attempts}");
        self.lot
            .claim(id, &claim, ("account", run), at(now), |_| life)
    }

    fn standing(&self, now: u64) -> Standing {
        let standings = self.lot.standings(at(now));
        standings.get("m").copied().unwrap_or_default()
    }

    fn ended(&self, result: FleetResult) -> u64 {
        self.lot.tally.of(result)
    }

    fn fail(&mut self, id: &str, run: &str, last: bool) -> Result<(), Refusal> {
        let failure = failure(run, "w", FailureKind::RuntimeFailed, last);
        self.lot.fail(id, failure, "account", at(1))
    }
}

fn failure(run: &str, worker: &str, kind: FailureKind, last: bool) -> Failure {
    Failure {
        run: run.to_owned(),
        worker: worker.to_owned(),
        kind,
        status: None,
        detail: String::new(),
        last,
    }
}

fn obituary(class: Class, failure: Failure) -> Obituary {
    Obituary { class, failure }
}

fn job(id: &str) -> Job {
    Job {
        id: id.to_owned(),
        deployment: "m".to_owned(),
        remaining_ms: 0,
        reply_to: String::new(),
        ticket: "ticket".to_owned(),
        payload_bytes: 0,
        traceparent: None,
        failures: Vec::new(),
    }
}

#[test]
fn a_queue_stands_as_its_requests_do() {
    let mut scene = Scene::new();
    let (_one, _two) = (scene.park("1", 0), scene.park("2", 10));
    let waits = |waiting, oldest, running| Standing {
        waiting,
        oldest: Duration::from_secs(oldest),
        running,
    };
    assert_eq!(scene.standing(20), waits(2, 20, 0));
    let granted = scene.claim("1", "w", 0, 20).unwrap();
    assert_eq!(scene.standing(20), waits(1, 10, 1));
    scene.fail("1", &granted.run, false).unwrap();
    assert_eq!(scene.standing(20), waits(2, 20, 0));
    scene.claim("1", "w", 1, 20).unwrap();
    scene.claim_after("1", "v", 2, 20, Life::Died).unwrap();
    assert_eq!(
        scene.standing(20),
        waits(1, 10, 1),
        "superseded, not run twice"
    );
    scene.lot.leave("1", End::ClientLeft);
    scene.lot.leave("1", End::ClientLeft);
    scene.lot.leave("2", Excuse::Deadline.into());
    assert_eq!(scene.standing(20), Standing::default());
    assert_eq!(scene.lot.counts(), (0, 0));
    assert_eq!(scene.ended(FleetResult::ClientLeft), 1);
    assert_eq!(scene.ended(FleetResult::Expired), 1);
}

#[test]
fn what_a_holder_leaves_behind_waits_again_unless_it_still_answers() {
    let mut scene = Scene::new();
    let _client = scene.park("1", 0);
    let granted = scene.claim("1", "w", 0, 0).unwrap();
    scene.lot.part("1", "another run", at(1));
    assert_eq!(
        (scene.standing(1).waiting, scene.standing(1).running),
        (0, 1)
    );
    scene.lot.part("1", &granted.run, at(1));
    assert_eq!(
        (scene.standing(1).waiting, scene.standing(1).running),
        (1, 0)
    );
    scene.lot.answer("1", &granted.run, "account").unwrap();
    assert_eq!(
        (scene.standing(1).waiting, scene.standing(1).running),
        (0, 1)
    );
    scene.lot.part("1", &granted.run, at(2));
    assert_eq!(scene.standing(1).waiting, 0, "its result has begun");
    scene.lot.leave("1", End::Answered);
    assert_eq!(scene.lot.counts(), (0, 0));
}

#[test]
fn a_result_is_taken_once_and_then_there_is_no_other_run() {
    let mut scene = Scene::new();
    let _client = scene.park("1", 0);
    let granted = scene.claim("1", "w", 0, 0).unwrap();
    assert!(scene.lot.answer("1", &granted.run, "account").is_ok());
    let twice = scene.lot.answer("1", &granted.run, "account");
    assert_eq!(twice.unwrap_err(), Refusal::Answered);
    assert_eq!(scene.claim("1", "v", 1, 0).unwrap_err(), Refusal::Answered);
    scene.lot.leave("1", End::Answered);
    assert_eq!(scene.claim("1", "v", 1, 0).unwrap_err(), Refusal::Answered);
}

#[test]
fn a_dead_letter_holds_its_payload_until_it_is_archived_or_too_old() {
    let mut scene = Scene::new();
    for id in ["1", "2"] {
        let mut client = scene.park(id, 0);
        let granted = scene.claim(id, "w", 0, 0).unwrap();
        assert!(matches!(client.try_recv(), Err(TryRecvError::Empty)));
        scene.fail(id, &granted.run, true).unwrap();
        assert!(matches!(
            client.try_recv(),
            Ok(Reply::Excused(Excuse::Failed(_)))
        ));
        drop(granted);
    }
    assert_eq!(scene.lounge.held_bytes(), 8);
    assert_eq!(scene.lot.dead(&job("1")).unwrap().failures.len(), 1);
    scene.lot.forget_dead("1");
    assert_eq!(scene.lounge.held_bytes(), 4);
    scene.lot.tidy(at(60));
    assert_eq!(scene.lounge.held_bytes(), 4);
    scene.lot.tidy(at(61));
    assert_eq!(scene.lounge.held_bytes(), 0);
}

#[test]
fn what_the_broker_gives_up_does_not_wait_for_its_deadline() {
    let mut scene = Scene::new();
    let mut client = scene.park("1", 0);
    let mut job = job("1");
    job.ticket = "guess".to_owned();
    scene.lot.buried(&job, None, at(1));
    assert!(
        matches!(client.try_recv(), Err(TryRecvError::Empty)),
        "a forgery"
    );
    job.ticket = "ticket".to_owned();
    scene.lot.buried(&job, None, at(1));
    assert!(matches!(
        client.try_recv(),
        Ok(Reply::Excused(Excuse::Undeliverable))
    ));
    assert_eq!(scene.claim("1", "w", 0, 1).unwrap_err(), Refusal::Answered);
}

#[test]
fn a_request_whose_runtime_died_on_two_workers_is_told_as_poison_and_counted_so() {
    let died = |run: &str, worker, last| failure(run, worker, FailureKind::RuntimeDied, last);
    let mut scene = Scene::new();
    let mut told = scene.park("told", 0);
    let first = scene.claim("told", "a", 0, 0).unwrap().run;
    scene
        .lot
        .fail("told", died(&first, "a", false), "account", at(1))
        .unwrap();
    let second = scene.claim("told", "b", 1, 1).unwrap().run;
    scene
        .lot
        .fail("told", died(&second, "b", true), "account", at(1))
        .unwrap();
    assert!(matches!(
        told.try_recv(),
        Ok(Reply::Excused(Excuse::Poison))
    ));
    assert_eq!(scene.lot.dead(&job("told")).unwrap().attempts, 2);
    let mut buried = scene.park("buried", 0);
    let run = scene.claim("buried", "b", 1, 1).unwrap().run;
    let letter = obituary(Class::Poison, died(&run, "b", true));
    scene.lot.buried(&job("buried"), Some(letter), at(1));
    assert!(matches!(
        buried.try_recv(),
        Ok(Reply::Excused(Excuse::Poison))
    ));
    assert_eq!(scene.ended(FleetResult::Poison), 2);
    assert_eq!(scene.ended(FleetResult::Failed), 0);
}

#[test]
fn a_last_failure_that_its_dead_letter_told_first_is_not_late_and_another_is() {
    let mut scene = Scene::new();
    let _client = scene.park("1", 0);
    let run = scene.claim("1", "w", 0, 0).unwrap().run;
    let last = failure(&run, "w", FailureKind::RuntimeFailed, true);
    let letter = obituary(Class::Transient, last.clone());
    scene.lot.buried(&job("1"), Some(letter), at(1));
    scene.lot.fail("1", last, "account", at(1)).unwrap();
    assert_eq!(scene.lot.tally.late, 0);
    assert_eq!(scene.ended(FleetResult::Failed), 1);
    assert_eq!(
        scene.fail("1", "an older run", true),
        Err(Refusal::Answered)
    );
    assert_eq!(scene.lot.tally.late, 1);
}

#[test]
fn a_failure_of_a_result_that_broke_off_is_not_late_and_wants_no_other_attempt() {
    let mut scene = Scene::new();
    for (id, left_first) in [("1", false), ("2", true)] {
        let _client = scene.park(id, 0);
        let run = scene.claim(id, "w", 0, 0).unwrap().run;
        scene.lot.answer(id, &run, "account").unwrap();
        if left_first {
            scene.lot.leave(id, End::BrokeOff);
        }
        assert_eq!(scene.fail(id, &run, false), Err(Refusal::Answered));
    }
    assert_eq!(scene.lot.tally.late, 0);
}
