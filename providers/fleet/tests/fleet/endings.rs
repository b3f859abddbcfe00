//! Every way in which a parked request ends.

use std::time::Duration;

use thermocline_broker::{Broker, Topic};
use thermocline_provider::Provider;
use thermocline_provider::fleet::{FleetResult, SharedFleet};
use thermocline_wire::fleet::{Ending, FailureKind};

use crate::scene::{Asked, Scene, head, report_of, still};

#[tokio::test]
async fn a_request_is_answered_by_the_worker_that_claims_it() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    assert_eq!(
        (granted.grant.method.as_str(), granted.grant.target.as_str()),
        ("POST", "/generate?n=1")
    );
    assert_eq!(&granted.payload[..], b"prompt");
    assert!(granted.grant.remaining_ms > 50_000);
    let ours = |name: &str| name.starts_with("x-thermocline-");
    assert!(!granted.grant.headers.iter().any(|(name, _)| ours(name)));
    let run = granted.grant.run.clone();
    worker.answer(&held.job, &run, "picture").await.unwrap();
    assert_eq!(granted.ending().await, Ending::Settled);
    held.delivery.ack().await.unwrap();
    let response = asked.response().await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/plain");
    assert_eq!(response.text().await.unwrap(), "picture");
    scene.at_rest().await;
    assert_eq!(scene.ended(FleetResult::Answered), 1);
}

#[tokio::test]
async fn the_last_failure_is_the_answer_and_says_nothing_of_what_is_inside() {
    for (kind, status) in [
        (FailureKind::RuntimeFailed, 502),
        (FailureKind::OutOfCapacity, 503),
        (FailureKind::TimedOut, 504),
        (FailureKind::Incompatible, 502),
    ] {
        let scene = Scene::new().await;
        let asked = scene.ask("prompt");
        let worker = scene.worker("w");
        let (held, granted) = worker.begin().await;
        let run = granted.grant.run.clone();
        worker.fail(&held.job, &run, kind, true).await.unwrap();
        assert_eq!(granted.ending().await, Ending::Settled);
        let response = asked.response().await;
        assert_eq!(response.status().as_u16(), status, "{kind:?}");
        let text = response.text().await.unwrap();
        assert!(!text.contains("it went wrong"), "{text}");
        assert!(text.contains("\"code\""), "{text}");
    }
}

#[tokio::test]
async fn a_failure_that_is_not_the_last_is_followed_by_another_attempt() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let (first, second) = (scene.worker("a"), scene.worker("b"));
    let (held, granted) = first.begin().await;
    let (run, kind) = (granted.grant.run.clone(), FailureKind::RuntimeFailed);
    first.fail(&held.job, &run, kind, false).await.unwrap();
    assert_eq!(granted.ending().await, Ending::Settled);
    assert_eq!(scene.tally().running, 0);
    let body = held.delivery.body().clone();
    held.delivery.retry(body, Duration::ZERO).await.unwrap();
    let (again, granted) = second.begin().await;
    assert_eq!(again.delivery.attempts(), 1);
    second
        .answer(&again.job, &granted.grant.run, "picture")
        .await
        .unwrap();
    assert_eq!(asked.status().await, 200);
}

#[tokio::test]
async fn the_deadline_ends_what_waits_and_what_runs() {
    let time = still();
    let scene = Scene::with(crate::scene::settings(), time.clock()).await;
    let (waits, runs) = (
        scene.ask("one"),
        scene.ask_within("two", Duration::from_secs(60)),
    );
    scene.until(|tally| tally.parked == 2).await;
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    time.advance(Duration::from_secs(61));
    assert_eq!((waits.status().await, runs.status().await), (504, 504));
    assert_eq!(granted.ending().await, Ending::Expired);
    let late = worker.answer(&held.job, "run", "late").await.unwrap_err();
    assert_eq!(late, "expired");
    let other = worker.take().await;
    assert_eq!(worker.claim(&other).await.err().unwrap(), "expired");
    scene.at_rest().await;
    assert_eq!(
        (scene.ended(FleetResult::Expired), scene.tally().late),
        (2, 1)
    );
}

#[tokio::test]
async fn who_is_closed_upon_once_the_gateways_patience_is_over_has_not_left() {
    let time = still();
    let scene = Scene::with(crate::scene::settings(), time.clock()).await;
    let now = 1_800_000_000_000_u64;
    let ask = |head_by: u64| {
        let request = scene.post("/generate").body("prompt");
        let request = request.header("x-thermocline-head-by", head_by.to_string());
        let request = request.header("x-thermocline-whole-by", (now + 60_000).to_string());
        Asked::send(request)
    };
    let impatient = ask(now + 1_000);
    scene.until(|tally| tally.parked == 1).await;
    time.advance(Duration::from_secs(1));
    impatient.leave();
    scene.at_rest().await;
    assert_eq!(
        (
            scene.ended(FleetResult::Expired),
            scene.ended(FleetResult::ClientLeft)
        ),
        (1, 0)
    );
    let patient = ask(now + 30_000);
    scene.until(|tally| tally.parked == 1).await;
    patient.leave();
    scene.at_rest().await;
    assert_eq!(
        (
            scene.ended(FleetResult::Expired),
            scene.ended(FleetResult::ClientLeft)
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn the_time_in_the_queue_is_told_from_the_arrival_to_the_run() {
    let time = still();
    let scene = Scene::with(crate::scene::settings(), time.clock()).await;
    let asked = scene.ask("prompt");
    scene.until(|tally| tally.parked == 1).await;
    time.advance(Duration::from_secs(3));
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    let run = granted.grant.run.clone();
    worker.answer(&held.job, &run, "picture").await.unwrap();
    let response = asked.response().await;
    // 3 s until it was claimed, and what the worker says of it: 1 ms.
    assert_eq!(
        response.headers()["server-timing"],
        "queue;dur=3001, load;dur=0"
    );
}

#[tokio::test]
async fn who_waits_for_a_start_waits_as_long_as_it_said_and_for_a_loaded_model_longer() {
    let time = still();
    let scene = Scene::with(crate::scene::settings(), time.clock()).await;
    let ask = || {
        let request = scene.post("/generate").body("prompt");
        Asked::send(request.header("x-thermocline-cold-remaining-ms", "2000"))
    };
    let asked = ask();
    scene.until(|tally| tally.parked == 1).await;
    time.advance(Duration::from_secs(2));
    let response = asked.response().await;
    assert_eq!(response.status(), 503);
    assert!(
        response
            .text()
            .await
            .unwrap()
            .contains("cold_start_timeout")
    );
    scene.at_rest().await;
    let loaded = report_of("w", "1", 1, Duration::from_secs(60), &["m"]);
    let loaded = serde_json::to_vec(&loaded).unwrap();
    scene
        .broker
        .announce(Topic::Report, loaded.into())
        .await
        .unwrap();
    while scene.fleet.workers().is_empty() {
        tokio::task::yield_now().await;
    }
    let asked = ask();
    scene.until(|tally| tally.parked == 1).await;
    time.advance(Duration::from_secs(30));
    let worker = scene.worker("w");
    let first = worker.take().await; // whose client is gone
    assert_eq!(worker.claim(&first).await.err().unwrap(), "expired");
    first.delivery.ack().await.unwrap();
    let (held, granted) = worker.begin().await;
    let run = granted.grant.run.clone();
    worker.answer(&held.job, &run, "picture").await.unwrap();
    assert_eq!(asked.status().await, 200);
}

#[tokio::test]
async fn a_client_that_leaves_before_the_claim_withdraws_its_request() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    scene.until(|tally| tally.parked == 1).await;
    asked.leave();
    scene.at_rest().await;
    let worker = scene.worker("w");
    let held = worker.take().await;
    assert_eq!(worker.claim(&held).await.err().unwrap(), "client_left");
    assert_eq!(
        (
            scene.ended(FleetResult::ClientLeft),
            scene.tally().abandoned
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn a_client_that_leaves_during_the_run_stops_it() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    let run = granted.grant.run.clone();
    asked.leave();
    assert_eq!(granted.ending().await, Ending::ClientLeft);
    let late = worker.answer(&held.job, &run, "late").await.unwrap_err();
    assert_eq!(late, "client_left");
    scene.at_rest().await;
}

#[tokio::test]
async fn a_deployment_that_goes_lets_its_requests_go() {
    let scene = Scene::new().await;
    let (waits, runs) = (scene.ask("one"), scene.ask("two"));
    scene.until(|tally| tally.parked == 2).await;
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    scene.fleet.delete("key").await.unwrap();
    assert_eq!((waits.status().await, runs.status().await), (503, 503));
    assert_eq!(granted.ending().await, Ending::Closing);
    let late = worker.answer(&held.job, "run", "late").await.unwrap_err();
    assert_eq!(late, "abandoned");
    scene.at_rest().await;
}

#[tokio::test]
async fn answers_without_a_body_reach_the_client_too() {
    let scene = Scene::new().await;
    let worker = scene.worker("w");
    for (status, headers) in [
        (204, vec![]),
        (304, vec![("etag", "x")]),
        (200, vec![("content-length", "0")]),
    ] {
        let asked = scene.ask("prompt");
        let (held, granted) = worker.begin().await;
        let mut head = head(&granted.grant.run, &headers);
        head.status = status;
        worker
            .post_result(&held.job, &head, Vec::new())
            .await
            .unwrap();
        assert_eq!(asked.status().await, status);
        assert_eq!(granted.ending().await, Ending::Settled);
        held.delivery.ack().await.unwrap();
    }
    scene.at_rest().await;
    assert_eq!(scene.ended(FleetResult::Answered), 3);
}
