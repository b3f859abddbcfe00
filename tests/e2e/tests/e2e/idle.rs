//! When an instance is idle, and when it only looks so.

use reqwest::Method;
use serde_json::json;
use thermocline_support::backend::{Reply, Script};
use thermocline_support::provider::{Boot, Call};

use crate::scene::{SECOND, Scene, ok, pod, secs};

#[tokio::test]
async fn b05_a_long_response_without_any_rate_is_not_cut() {
    let chunks: Vec<String> = (0..40).map(|i| format!("chunk {i:03};")).collect();
    let scene = Scene::new(Reply::new(200).items(chunks.clone(), secs(10))).await;
    let policy = json!({ "policy": { "promote_rps": 2, "demote_rps": 1 } });
    scene.deploy(pod("60s"), policy).await;
    let request = scene.send("10m").await;
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    let response = scene.answered(secs(2), request).await;
    assert_eq!((response.status, response.text()), (200, chunks.concat()));
    let ended = scene.time.now();
    assert_eq!(scene.first_delete(), None);
    scene.pass_in(secs(30 * 60), secs(10)).await;
    let truth = scene.cloud.truth();
    assert_eq!((truth.created, truth.deleted, truth.live.len()), (1, 1, 0));
    assert!(scene.first_delete().unwrap().since(ended) >= secs(58));
}

fn slow_then_quick(seconds: u64) -> Script {
    let slow = ok().first_byte_delay(secs(seconds));
    Script::from_fn(|_| ok()).on("/x", Script::in_turn([slow, ok()]))
}

#[tokio::test]
async fn b06_the_idle_clock_starts_at_the_end_of_a_request() {
    let scene = Scene::new(slow_then_quick(25)).await;
    scene.deploy(pod("10s"), json!({})).await;
    let first = scene.send("60s").await;
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    scene.answered(SECOND, first).await;
    scene.pass(secs(5)).await;
    assert_eq!(scene.get().await.status, 200);
    let ended = scene.time.now();
    assert_eq!(scene.first_delete(), None);
    scene
        .until(SECOND, async || scene.first_delete().is_some())
        .await;
    let after = scene.first_delete().unwrap().since(ended);
    assert!((secs(10)..=secs(12)).contains(&after), "{after:?}");
    assert_eq!(scene.cloud.truth().created, 1);
}

#[tokio::test]
async fn b06_without_a_second_request_it_stops_after_the_first() {
    let scene = Scene::new(slow_then_quick(25)).await;
    scene.deploy(pod("10s"), json!({})).await;
    let first = scene.send("60s").await;
    scene.answered(SECOND, first).await;
    let ended = scene.time.now();
    scene
        .until(SECOND, async || scene.first_delete().is_some())
        .await;
    let after = scene.first_delete().unwrap().since(ended);
    assert!((secs(9)..=secs(12)).contains(&after), "{after:?}");
}

#[tokio::test]
async fn b26_a_start_slower_than_the_idle_timeout_serves_its_waiter() {
    let scene = Scene::new(ok()).await;
    scene.cloud.set_boot(Boot::After(secs(180)));
    scene
        .deploy(pod("60s"), json!({ "cold_start": { "max_wait": "300s" } }))
        .await;
    let request = scene.send("300s").await;
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    let response = scene.answered(SECOND, request).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(scene.cloud.truth().count(Call::Delete), 0);
    assert!(scene.elapsed().as_secs_f64() < 185.0);
}

#[tokio::test]
async fn b26_a_warmed_up_pod_is_idle_from_ready_on() {
    let scene = Scene::new(ok()).await;
    scene.cloud.set_boot(Boot::After(secs(180)));
    scene.deploy(pod("60s"), json!({})).await;
    assert_eq!(
        scene.admin(Method::POST, "/deployments/m/wake").await.0,
        202
    );
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    let ready = async || scene.status().await["state"] == "running";
    scene.until(SECOND, ready).await;
    let ready_at = scene.time.now();
    assert!((180.0..185.0).contains(&scene.elapsed().as_secs_f64()));
    scene
        .until(SECOND, async || scene.first_delete().is_some())
        .await;
    let after = scene.first_delete().unwrap().since(ready_at);
    assert!((secs(58)..=secs(62)).contains(&after), "{after:?}");
}

#[tokio::test]
async fn min_instances_are_started_unasked_and_never_stopped() {
    let scene = Scene::new(ok()).await;
    let pinned = json!({ "pod": { "provider": "toy", "min_instances": 1, "idle_timeout": "10s" } });
    scene.deploy(pinned, json!({})).await;
    scene.until_live(1).await;
    scene.pass(secs(60)).await;
    assert_eq!(scene.cloud.truth().count(Call::Delete), 0);
    assert_eq!(
        scene.get().await.header("x-thermocline-start"),
        Some("warm")
    );
}

#[tokio::test]
async fn b45_probes_and_scrapes_are_no_traffic() {
    let scene = Scene::new(ok()).await;
    let more = json!({
        "activity": { "ignore": ["^/monitor$"] },
        "health": { "live": { "path": "/live", "interval": "5s" } },
    });
    scene.deploy(pod("60s"), more).await;
    assert_eq!(scene.get().await.status, 200);
    let began = scene.time.now();
    for _ in 0..(20 * 60 / 5) {
        let mut client = scene.system.client().await;
        let ignored = client.request("GET", "/d/m/monitor").send().await.unwrap();
        let there = !scene.cloud.truth().live.is_empty();
        assert!(ignored.status == 503 || there, "{}", ignored.status);
        assert_eq!(scene.system.admin.open_get("/healthz").await, 200);
        client.request("GET", "/-/readyz").send().await.unwrap();
        scene.admin(Method::GET, "/deployments").await;
        scene.step(secs(5)).await;
    }
    let truth = scene.cloud.truth();
    assert_eq!((truth.created, truth.live.len()), (1, 0));
    let stopped = scene.first_delete().unwrap().since(began);
    assert!((secs(60)..=secs(70)).contains(&stopped), "{stopped:?}");
    assert_eq!(scene.status().await["rps"], 0.0);
    let request = scene.send("60s").await;
    assert_eq!(
        scene.answered(SECOND, request).await.status,
        200,
        "an ordinary GET wakes it"
    );
}

/// An endpoint stays when its workers are gone; what is not traffic starts none.
#[tokio::test]
async fn an_idle_endpoint_is_left_asleep_by_ignored_paths_and_woken_by_a_person() {
    let scene = Scene::new(ok()).await;
    let tiers = json!({ "serverless": { "provider": "toy", "idle_timeout": "30s" } });
    let ignore = json!({ "activity": { "ignore": ["^/ping$"] } });
    scene.deploy(tiers, ignore).await;
    scene.step(SECOND).await;
    assert_eq!(scene.get().await.status, 200);
    let ping = async || {
        let mut client = scene.system.client().await;
        client.request("GET", "/d/m/ping").send().await.unwrap()
    };
    assert_eq!(ping().await.status, 200);
    scene.pass(secs(40)).await;
    assert_eq!(scene.status().await["state"], "idle");
    assert_eq!(ping().await.status, 503);
    assert_eq!(scene.status().await["state"], "idle");
    let (status, _) = scene.admin(Method::POST, "/deployments/m/wake").await;
    assert_eq!(status, 202);
    scene.until_state("running").await;
    assert_eq!(ping().await.status, 200);
}
