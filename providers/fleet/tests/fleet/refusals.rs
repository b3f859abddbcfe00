//! What a worker is refused: what is not its own, and what comes late or twice.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use serde_json::{Value, json};
use thermocline_broker::{Broker, Topic};
use thermocline_provider::fleet::{FleetResult, SharedFleet};
use thermocline_wire::fleet::{Ending, FailureKind};

use crate::scene::{Scene, deploy, head, report, settings, still};

#[tokio::test]
async fn nothing_is_told_without_a_token() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let stranger = scene.worker_with("w", "guess");
    let held = stranger.take().await;
    assert_eq!(stranger.claim(&held).await.err().unwrap(), "auth");
    assert_eq!(stranger.model("m").await.unwrap_err(), "auth");
    assert_eq!(
        stranger.answer(&held.job, "", "x").await.unwrap_err(),
        "auth"
    );
    asked.leave();
}

#[tokio::test]
async fn a_token_reaches_what_it_may_pull_and_nothing_else() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let other = scene.worker_with("w", "other-token");
    let held = other.take().await;
    assert_eq!(other.claim(&held).await.err().unwrap(), "forbidden");
    assert_eq!(other.model("m").await.unwrap_err(), "forbidden");
    let own = scene.worker_with("serve", &scene.fleet.own_worker().token);
    assert_eq!(own.model("m").await.unwrap()["image"], "image");
    let granted = own.claim(&held).await.unwrap();
    let run = granted.grant.run.clone();
    let refused = other.answer(&held.job, &run, "x").await.unwrap_err();
    assert_eq!(refused, "forbidden");
    // A token that may pull it answers for no other's run.
    let twin = scene.worker_with("w", "twin-token");
    let kind = FailureKind::RuntimeFailed;
    assert_eq!(
        twin.answer(&held.job, &run, "x").await.unwrap_err(),
        "superseded"
    );
    assert_eq!(
        twin.fail(&held.job, &run, kind, true).await.unwrap_err(),
        "superseded"
    );
    own.answer(&held.job, &run, "x").await.unwrap();
    assert_eq!(asked.status().await, 200);
}

#[tokio::test]
async fn a_claim_takes_the_ticket_of_the_job() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let worker = scene.worker("w");
    let mut held = worker.take().await;
    held.job.ticket = "guess".to_owned();
    assert_eq!(worker.claim(&held).await.err().unwrap(), "forbidden");
    held.job.id = "unknown".to_owned();
    assert_eq!(worker.claim(&held).await.err().unwrap(), "abandoned");
    asked.leave();
}

#[tokio::test]
async fn claims_that_race_for_an_attempt_are_granted_once() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let held = scene.worker("w").take().await;
    let workers: Vec<_> = (0..20).map(|n| scene.worker(&format!("w{n}"))).collect();
    let claims = workers.iter().map(|worker| worker.claim(&held));
    let (granted, refused): (Vec<_>, Vec<_>) =
        join_all(claims).await.into_iter().partition(Result::is_ok);
    assert_eq!(granted.len(), 1);
    assert!(
        refused
            .into_iter()
            .all(|claim| claim.err().unwrap() == "superseded")
    );
    asked.leave();
}

#[tokio::test]
async fn a_late_duplicate_is_answered_to_nobody() {
    let time = still();
    let scene = Scene::with(settings(), time.clock()).await;
    let asked = scene.ask("prompt");
    let (slow, quick) = (scene.worker("slow"), scene.worker("quick"));
    let (held, first) = slow.begin().await;
    let old = first.grant.run.clone();
    // The broker gave the job to another: it waits for who is heard of, and no longer.
    let claimed = quick.claim_as(&held.job, "1", 1).await;
    assert_eq!(claimed.err().unwrap(), "undecided");
    time.advance(Duration::from_secs(11));
    let second = quick.claim_as(&held.job, "1", 1).await.unwrap();
    assert_eq!(first.ending().await, Ending::Superseded);
    assert_eq!(
        slow.answer(&held.job, &old, "old").await.unwrap_err(),
        "superseded"
    );
    quick
        .answer(&held.job, &second.grant.run, "new")
        .await
        .unwrap();
    assert_eq!(asked.response().await.text().await.unwrap(), "new");
    scene.at_rest().await;
    assert_eq!(
        slow.answer(&held.job, &old, "old").await.unwrap_err(),
        "answered"
    );
    assert_eq!(
        quick
            .answer(&held.job, &second.grant.run, "twice")
            .await
            .unwrap_err(),
        "answered"
    );
    let tally = scene.tally();
    assert_eq!(
        (
            tally.superseded,
            tally.late,
            tally.of(FleetResult::Answered)
        ),
        (1, 3, 1)
    );
}

#[tokio::test]
async fn two_workers_that_die_with_it_are_poison_and_there_is_no_third() {
    let time = still();
    let scene = Scene::with(settings(), time.clock()).await;
    let asked = scene.ask("prompt");
    let valid = Duration::from_secs(6);
    for (attempt, name) in (0..).zip(["a", "b"]) {
        let text = serde_json::to_vec(&report(name, "1", 1, valid)).unwrap();
        scene
            .broker
            .announce(Topic::Report, text.into())
            .await
            .unwrap();
        let worker = scene.worker(name);
        let held = worker.take().await;
        assert_eq!(held.delivery.attempts(), attempt);
        drop(worker.claim(&held).await.unwrap());
        scene
            .until(|tally| tally.granted > u64::from(attempt))
            .await;
    }
    let third = scene.worker("c");
    let held = third.take().await;
    let undecided = || async { third.claim(&held).await.err() };
    while undecided().await.as_deref() == Some("superseded") {}
    assert_eq!(undecided().await.unwrap(), "undecided");
    time.advance(Duration::from_secs(11));
    assert_eq!(undecided().await.unwrap(), "poison");
    let response = asked.response().await;
    assert_eq!(response.status(), 502);
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["code"], "poison");
    assert_eq!(undecided().await.unwrap(), "poison", "it stays so");
    assert_eq!(
        (scene.ended(FleetResult::Poison), scene.tally().deaths),
        (1, 2)
    );
}

#[tokio::test]
async fn two_workers_that_die_with_it_are_poison_although_no_worker_is_left() {
    let time = still();
    let scene = Scene::with(settings(), time.clock()).await;
    let mut letters = scene.fleet.dead_letters().await.unwrap();
    let asked = scene.ask("prompt");
    for (attempt, name) in (1..).zip(["a", "b"]) {
        let worker = scene.worker(name);
        let (held, granted) = worker.begin().await;
        drop((held, granted));
        scene
            .until(|tally| (tally.granted, tally.running) == (attempt, 0))
            .await;
    }
    assert_eq!(scene.tally().parked, 1);
    time.advance(Duration::from_secs(11));
    let response = asked.response().await;
    assert_eq!(response.status(), 502);
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["code"], "poison");
    assert_eq!(
        (scene.ended(FleetResult::Poison), scene.tally().deaths),
        (1, 2)
    );
    let letter = letters.next().await.unwrap();
    let kinds: Vec<_> = letter.failures.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [FailureKind::WorkerLost; 2]);
    assert_eq!(&letter.request.as_ref().unwrap().payload[..], b"prompt");
    letter.archived().await;
    scene.at_rest().await;
    // Its copy is in the queue: whoever comes is told, and buries it.
    let late = scene.worker("c");
    let held = late.take().await;
    assert_eq!(late.claim(&held).await.err().unwrap(), "poison");
}

#[tokio::test]
async fn who_cannot_be_heard_has_not_died() {
    let time = still();
    let scene = Scene::with(settings(), time.clock()).await;
    let asked = scene.ask("prompt");
    for (attempt, name) in (1..).zip(["a", "b"]) {
        let worker = scene.worker(name);
        drop(worker.begin().await);
        scene
            .until(|tally| (tally.granted, tally.running) == (attempt, 0))
            .await;
    }
    scene.line.cut();
    time.advance(Duration::from_secs(11));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    scene.line.restore();
    let worker = scene.worker("b");
    let held = worker.take().await;
    let granted = worker.claim(&held).await.unwrap();
    let run = granted.grant.run.clone();
    worker.answer(&held.job, &run, "picture").await.unwrap();
    assert_eq!(asked.status().await, 200);
}

#[tokio::test]
async fn what_cannot_be_read_harms_nobody() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    let job = &held.job;
    let huge = worker
        .call(&job.id, "claim")
        .body(vec![b'x'; 100_000])
        .send();
    assert_eq!(huge.await.unwrap().status(), 400);
    for body in [&b"\xff\xff\xff\xff"[..], b"\0\0\0\x02{}", b"\0\0", b""] {
        assert_eq!(
            worker.post_body(job, body.into()).await.unwrap_err(),
            "malformed"
        );
    }
    let mut odd = head(&granted.grant.run, &[]);
    odd.coding = "br".to_owned();
    assert_eq!(
        worker.post_result(job, &odd, vec![]).await.unwrap_err(),
        "malformed"
    );
    let none = worker.call(&job.id, "nonsense").json(&json!({})).send();
    assert_eq!(none.await.unwrap().status(), 404);
    worker
        .answer(job, &granted.grant.run, "fine")
        .await
        .unwrap();
    assert_eq!(asked.status().await, 200);
}

#[tokio::test]
async fn a_result_with_an_impossible_status_is_a_broken_model() {
    let scene = Scene::new().await;
    let worker = scene.worker("w");
    for status in [101, 0, 1000] {
        let asked = scene.ask("prompt");
        let (held, granted) = worker.begin().await;
        let mut odd = head(&granted.grant.run, &[]);
        odd.status = status;
        let _client_gone = worker.post_result(&held.job, &odd, vec![]).await;
        assert_eq!(asked.status().await, 502);
        held.delivery.ack().await.unwrap();
    }
    scene.at_rest().await;
}

#[tokio::test]
async fn models_change_their_generation_with_what_they_are_made_of() {
    let scene = Scene::new().await;
    let worker = scene.worker("w");
    let first = worker.model("m").await.unwrap();
    deploy(&scene.fleet, "again", "m").await;
    assert_eq!(worker.model("m").await.unwrap(), first);
    assert_eq!(worker.model("unknown").await.unwrap_err(), "not_found");
    let _kept_alive = Arc::new(scene);
}
