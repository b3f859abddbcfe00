//! Every request is counted once, however it ends.

use std::time::Duration;

use serde_json::Value;
use thermocline_clock::Clock;
use thermocline_fleet::Settings;
use thermocline_provider::Provider;
use thermocline_provider::fleet::FleetResult;
use thermocline_wire::fleet::FailureKind;

use crate::scene::{Asked, Scene, settings, still};
use crate::streamed::Streamed;

/// One request of `asked` has ended as `result` says, and nothing else has.
async fn counted(scene: &Scene, result: FleetResult) {
    scene.until(|tally| tally.of(result) == 1).await;
    scene.at_rest().await;
    assert_eq!(scene.tally().ended.iter().sum::<u64>(), 1, "{result:?}");
}

/// What `asked` is refused with: status and code.
async fn refused(asked: Asked) -> (u16, String) {
    let response = asked.response().await;
    let status = response.status().as_u16();
    let problem: Value = response.json().await.unwrap();
    (status, problem["code"].as_str().unwrap().to_owned())
}

fn said(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn an_answer_and_one_that_breaks_off() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    let run = granted.grant.run.clone();
    worker.answer(&held.job, &run, "picture").await.unwrap();
    assert_eq!(asked.status().await, 200);
    counted(&scene, FleetResult::Answered).await;

    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    let result = Streamed::begin(scene.worker("w"), &held, &granted, &[]).await;
    result.send("half").await;
    let response = asked.response().await;
    result.posted.abort();
    assert!(response.bytes().await.is_err());
    counted(&scene, FleetResult::Failed).await;
    // Its worker tells of it: neither late, nor a reason to try it again.
    let (run, kind) = (granted.grant.run.clone(), FailureKind::RuntimeFailed);
    let told = worker.fail(&held.job, &run, kind, false).await;
    assert_eq!(told.unwrap_err(), "answered");
    assert_eq!(scene.tally().late, 0);
}

#[tokio::test]
async fn a_failure_and_what_a_worker_cannot_run() {
    for (kind, answer) in [
        (FailureKind::RuntimeFailed, said(502, "bad_gateway")),
        (FailureKind::OutOfCapacity, said(503, "no_capacity")),
    ] {
        let scene = Scene::new().await;
        let asked = scene.ask("prompt");
        let worker = scene.worker("w");
        let (held, granted) = worker.begin().await;
        let run = granted.grant.run.clone();
        worker.fail(&held.job, &run, kind, true).await.unwrap();
        assert_eq!(refused(asked).await, answer);
        scene
            .until(|tally| tally.of(FleetResult::Failed) == 1)
            .await;
        assert_eq!(scene.tally().ended.iter().sum::<u64>(), 1);
    }
}

#[tokio::test]
async fn a_deadline_and_a_start_that_takes_too_long() {
    let time = still();
    let scene = Scene::with(settings(), time.clock()).await;
    let asked = scene.ask("prompt");
    scene.until(|tally| tally.parked == 1).await;
    time.advance(Duration::from_secs(60));
    assert_eq!(refused(asked).await, said(504, "deadline"));
    counted(&scene, FleetResult::Expired).await;

    let scene = Scene::with(settings(), time.clock()).await;
    let request = scene.post("/generate").body("prompt");
    let asked = Asked::send(request.header("x-thermocline-cold-remaining-ms", "2000"));
    scene.until(|tally| tally.parked == 1).await;
    time.advance(Duration::from_secs(2));
    assert_eq!(refused(asked).await, said(503, "cold_start_timeout"));
    counted(&scene, FleetResult::ColdStartTimeout).await;
}

#[tokio::test]
async fn a_body_that_does_not_come_before_the_deadline() {
    let time = still();
    let scene = Scene::with(settings(), time.clock()).await;
    let never = futures_util::stream::pending::<std::io::Result<Vec<u8>>>();
    let request = scene.post("/").header("content-length", "11");
    let asked = Asked::send(request.body(reqwest::Body::wrap_stream(never)));
    scene.until(|tally| tally.held_bytes == 11).await;
    time.advance(Duration::from_secs(60));
    assert_eq!(refused(asked).await, said(504, "deadline"));
    counted(&scene, FleetResult::Expired).await;
}

#[tokio::test]
async fn a_client_that_leaves_before_and_after_its_body() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    scene.until(|tally| tally.parked == 1).await;
    asked.leave();
    counted(&scene, FleetResult::ClientLeft).await;

    let scene = Scene::new().await;
    let never = futures_util::stream::pending::<std::io::Result<Vec<u8>>>();
    let request = scene.post("/").header("content-length", "11");
    let asked = Asked::send(request.body(reqwest::Body::wrap_stream(never)));
    scene.until(|tally| tally.held_bytes == 11).await;
    asked.leave();
    scene.at_rest().await;
    assert_eq!(scene.tally().ended.iter().sum::<u64>(), 1);
}

#[tokio::test]
async fn what_is_not_taken_in() {
    let small = Settings {
        max_payload: 3,
        ..settings()
    };
    let scene = Scene::with(small, Clock::system()).await;
    let asked = scene.ask("prompt");
    assert_eq!(refused(asked).await, said(413, "body_too_large"));
    counted(&scene, FleetResult::Refused).await;

    let full = Settings {
        max_parked: 0,
        ..settings()
    };
    let scene = Scene::with(full, Clock::system()).await;
    assert_eq!(refused(scene.ask("prompt")).await, said(429, "full"));
    counted(&scene, FleetResult::Refused).await;

    let scene = Scene::new().await;
    let request = scene.post("/").header("connection", "upgrade");
    let asked = Asked::send(request.header("upgrade", "websocket"));
    assert_eq!(refused(asked).await, said(501, "upgrade_unsupported"));
    counted(&scene, FleetResult::Refused).await;
}

#[tokio::test]
async fn a_broker_that_is_away_and_a_deployment_that_goes() {
    let scene = Scene::new().await;
    scene.line.cut();
    assert_eq!(refused(scene.ask("prompt")).await, said(503, "no_capacity"));
    counted(&scene, FleetResult::Unavailable).await;

    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    scene.until(|tally| tally.parked == 1).await;
    scene.fleet.delete("key").await.unwrap();
    assert_eq!(refused(asked).await, said(503, "unavailable"));
    counted(&scene, FleetResult::Unavailable).await;
}

#[tokio::test]
async fn a_deployment_that_is_not_known() {
    let time = still();
    let mut scene = Scene::with(settings(), time.clock()).await;
    let headers = &mut scene.address.headers;
    let name = "x-thermocline-fleet-deployment";
    headers.insert(name.to_owned(), "unknown".to_owned());
    let mut asked = tokio::spawn(refused(scene.ask("prompt")));
    // It waits for one that may yet come, as after a start.
    while !asked.is_finished() {
        time.advance(Duration::from_secs(1));
        tokio::task::yield_now().await;
    }
    assert_eq!((&mut asked).await.unwrap(), said(503, "unavailable"));
    counted(&scene, FleetResult::Unavailable).await;
}
