//! What the gateway and the control plane find on loopback.

use std::time::Duration;

use futures_util::StreamExt;
use thermocline_broker::{Broker, Topic};
use thermocline_clock::Clock;
use thermocline_fleet::Settings;
use thermocline_provider::Provider;
use thermocline_wire::fleet::Demand;

use crate::scene::{Scene, deploy, settings, still};

#[tokio::test]
async fn nobody_else_on_this_machine_gets_in() {
    let scene = Scene::new().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for token in [None, Some("guess")] {
        let request = client.post(&scene.address.url).body("prompt");
        let request = request.header("x-thermocline-fleet-deployment", "m");
        let request = token.into_iter().fold(request, |request, token| {
            request.header("x-thermocline-fleet-token", token)
        });
        assert_eq!(request.send().await.unwrap().status(), 401);
    }
    assert_eq!(scene.tally().published, 0);
}

#[tokio::test]
async fn a_probe_is_answered_without_a_worker() {
    let scene = Scene::new().await;
    assert_eq!(scene.probe("/ready").send().await.unwrap().status(), 200);
    scene.fleet.delete("key").await.unwrap();
    assert_eq!(scene.probe("/ready").send().await.unwrap().status(), 503);
    assert_eq!(scene.tally().published, 0);
}

#[tokio::test]
async fn upgrades_are_refused_in_so_many_words() {
    let scene = Scene::new().await;
    let request = scene
        .post("/ws")
        .header("connection", "upgrade")
        .header("upgrade", "websocket");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 501);
    assert!(response.text().await.unwrap().contains("WebSocket"));
}

#[tokio::test]
async fn errors_on_v1_have_the_shape_that_its_clients_read() {
    let scene = Scene::with(
        Settings {
            max_payload: 1,
            ..settings()
        },
        Clock::system(),
    )
    .await;
    let request = scene
        .post("/v1/chat/completions")
        .header("x-request-id", "r1")
        .body("long");
    let error: serde_json::Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(error["error"]["code"], "body_too_large");
    assert_eq!(error["error"]["request_id"], "r1");
}

#[tokio::test]
async fn after_a_restart_a_request_waits_until_its_deployment_is_known_again() {
    let time = still();
    let scene = Scene::with(settings(), time.clock()).await;
    scene.fleet.delete("key").await.unwrap();
    let patient = scene.ask("prompt");
    let worker = scene.worker("w");
    deploy(&scene.fleet, "again", "m").await;
    let (held, granted) = worker.begin().await;
    worker
        .answer(&held.job, &granted.grant.run, "y")
        .await
        .unwrap();
    assert_eq!(patient.status().await, 200);
}

#[tokio::test]
async fn demand_is_announced_as_it_changes_and_whole_now_and_then() {
    let scene = Scene::new().await;
    let heard = scene.broker.listen(Topic::Demand).await.unwrap();
    let mut heard = heard.map(|text| serde_json::from_slice::<Demand>(&text).unwrap());
    let asked = scene.ask("prompt");
    let of_m = |demand: &Demand| {
        demand
            .queues
            .iter()
            .find(|it| it.deployment == "m")
            .cloned()
    };
    let mut sequence = 0;
    loop {
        let demand = heard.next().await.unwrap();
        assert!(demand.sequence > sequence);
        sequence = demand.sequence;
        if of_m(&demand).is_some_and(|queue| queue.waiting == 1) {
            break;
        }
    }
    asked.leave();
    while of_m(&heard.next().await.unwrap()).is_none_or(|queue| queue.waiting > 0) {}
    scene.fleet.delete("key").await.unwrap();
    while of_m(&heard.next().await.unwrap()).is_none_or(|queue| queue.terms.is_some()) {}
    let whole = tokio::time::timeout(Duration::from_secs(10), async {
        while !heard.next().await.unwrap().whole {}
    });
    assert!(whole.await.is_ok());
}
