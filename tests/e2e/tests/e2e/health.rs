//! Whether an instance is ready, and what becomes of one that never will be.

use std::time::Duration;

use serde_json::json;
use thermocline_clock::Clock;
use thermocline_support::backend::{Reply, Script};
use thermocline_support::provider::Boot;

use crate::scene::{SECOND, Scene, ok, pod, secs};

/// A script that answers 400 until `after` is over, and its readiness 503.
fn loads_for(after: Duration) -> impl Fn(&Clock) -> Script {
    move |clock| {
        let steps = |before: u16, then: Reply| [(secs(0), Reply::new(before)), (after, then)];
        let inference = Script::timeline(clock, steps(400, ok()));
        inference.on(
            "/ready",
            Script::timeline(clock, steps(503, Reply::new(200))),
        )
    }
}

#[tokio::test]
async fn b24_a_request_waits_until_the_model_is_loaded() {
    let scene = Scene::made(loads_for(secs(5))).await;
    scene.cloud.set_boot(Boot::ListensAfter(SECOND));
    let health = json!({ "health": { "ready": { "path": "/ready" } } });
    scene.deploy(pod("10m"), health).await;
    let request = scene.send("60s").await;
    let response = scene.answered(SECOND / 2, request).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(scene.elapsed().as_secs_f64() >= 6.0);
    assert_eq!(scene.cloud.backends()[0].seen().count("/x"), 1);
}

#[tokio::test]
async fn b24_one_lucky_probe_is_not_enough() {
    let scene = Scene::made(|clock| {
        let probes = [200, 503, 503, 200].map(Reply::new);
        let work = [(secs(0), Reply::new(503)), (secs(2), ok())];
        Script::timeline(clock, work).on("/ready", Script::in_turn(probes))
    })
    .await;
    let ready = json!({ "path": "/ready", "successes": 2 });
    scene
        .deploy(pod("10m"), json!({ "health": { "ready": ready } }))
        .await;
    let request = scene.send("60s").await;
    let response = scene.answered(SECOND / 2, request).await;
    let probes = scene.cloud.backends()[0].seen().count("/ready");
    assert_eq!(
        response.status,
        200,
        "{:?}, {probes} probes",
        scene.elapsed()
    );
}

#[tokio::test]
async fn b25_a_dead_process_ends_the_wait_and_a_correction_serves() {
    let scene = Scene::new(ok()).await;
    scene.cloud.set_boot(Boot::Exits(secs(2), 1));
    let health = json!({ "health": { "start_timeout": "900s" } });
    scene.deploy(pod("10m"), health).await;
    let request = scene.send("10m").await;
    let response = scene.answered(SECOND / 2, request).await;
    assert_eq!(response.status, 503, "{}", response.text());
    assert!(
        response.text().contains("exited with code 1 "),
        "{}",
        response.text()
    );
    assert!(scene.elapsed().as_secs_f64() <= 7.0);
    scene.cloud.set_boot(Boot::AtOnce);
    scene
        .system
        .admin
        .patch("m", json!({ "image": "i:2" }))
        .await;
    let request = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND / 2, request).await.status, 200);
}

#[tokio::test]
async fn b25_after_the_back_off_a_request_starts_it_again() {
    let scene = Scene::new(ok()).await;
    scene.cloud.set_boot(Boot::Exits(secs(2), 1));
    scene.deploy(pod("10m"), json!({})).await;
    let request = scene.send("10m").await;
    assert_eq!(scene.answered(SECOND / 2, request).await.status, 503);
    scene.cloud.set_boot(Boot::AtOnce);
    scene.pass(secs(5)).await;
    let request = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND / 2, request).await.status, 200);
}

#[tokio::test]
async fn an_instance_that_fails_its_liveness_checks_is_replaced_when_it_is_needed() {
    let scene = Scene::made(|_| {
        let alive = [200, 503].map(Reply::new);
        Script::from_fn(|_| ok()).on("/live", Script::in_turn(alive))
    })
    .await;
    let live = json!({ "path": "/live", "interval": "10s", "failures": 3 });
    scene
        .deploy(pod("10m"), json!({ "health": { "live": live } }))
        .await;
    assert_eq!(scene.get().await.status, 200);
    scene.until_live(0).await;
    let request = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND, request).await.status, 200);
}
