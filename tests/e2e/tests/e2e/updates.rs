//! Changing what runs: nothing is lost, and never more is there than may be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use thermocline_clock::Clock;
use thermocline_support::backend::Latch;
use thermocline_support::provider::{Boot, FakeProvider};
use thermocline_support::system::{Setup, System};

use crate::scene::{SECOND, Scene, ok, pod, secs};

/// Sends one request after the other until told otherwise; how many, all 200.
async fn traffic(system: &System, over: &Arc<AtomicBool>) -> tokio::task::JoinHandle<usize> {
    let (mut client, over) = (system.client().await, over.clone());
    tokio::spawn(async move {
        let mut sent = 0;
        while !over.load(Ordering::Relaxed) {
            let response = client.request("GET", "/d/m/x").send().await.unwrap();
            assert_eq!(response.status, 200, "{}", response.text());
            sent += 1;
        }
        sent
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b37_updates_under_load_lose_nothing_and_keep_to_the_maximum() {
    let cloud = FakeProvider::new(&Clock::system(), |_| ok().into());
    let system = Setup::new().provider("toy", cloud.clone()).start().await;
    let tiers = json!({ "pod": { "provider": "toy", "max_instances": 1 } });
    system
        .admin
        .deploy(json!({ "name": "m", "image": "i:1", "tiers": tiers }))
        .await;
    let over = Arc::new(AtomicBool::new(false));
    let clients = [traffic(&system, &over).await, traffic(&system, &over).await];
    system.admin.wait_state("m", "running").await;
    let created = cloud.truth().created;
    system
        .admin
        .patch("m", json!({ "policy": { "promote_rps": 3 } }))
        .await;
    assert_eq!(
        cloud.truth().created,
        created,
        "a threshold replaces nothing"
    );
    system.admin.patch("m", json!({ "image": "i:2" })).await;
    cloud
        .wait_for(|truth| truth.created == 2 && truth.live.len() == 1)
        .await;
    system.admin.patch("m", json!({ "image": "i:3" })).await;
    let last = system.admin.patch("m", json!({ "image": "i:4" })).await;
    assert_eq!(last["spec"]["image"], "i:4");
    let settled = |status: &Value| {
        status["instances"].as_array().unwrap().len() == 1
            && status["instances"][0]["state"] == "ready"
    };
    system.admin.wait_status("m", settled).await;
    over.store(true, Ordering::Relaxed);
    for client in clients {
        assert!(client.await.unwrap() > 0);
    }
    assert!(
        cloud.truth().most_live <= 2,
        "one surge instance at the most"
    );
}

#[tokio::test]
async fn b37_an_update_during_a_start_starts_what_it_says() {
    let scene = Scene::new(ok()).await;
    let never = Latch::new();
    scene.cloud.set_boot(Boot::WhenOpen(never));
    scene.deploy(pod("60s"), json!({})).await;
    let request = scene.send("60s").await;
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    scene.cloud.set_boot(Boot::AtOnce);
    scene
        .system
        .admin
        .patch("m", json!({ "image": "i:2" }))
        .await;
    assert_eq!(scene.answered(SECOND / 4, request).await.status, 200);
    scene.until_live(1).await;
    assert!(scene.cloud.truth().most_live <= 2);
    assert_eq!(scene.cloud.truth().created, 2);
}

#[tokio::test]
async fn b37_at_zero_after_an_update_a_request_wakes_it() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("10s"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    scene.until_live(0).await;
    scene
        .system
        .admin
        .patch("m", json!({ "image": "i:2" }))
        .await;
    scene.pass(secs(5)).await;
    assert_eq!(scene.cloud.truth().created, 1, "an update wakes nothing");
    let request = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND / 4, request).await.status, 200);
}

/// Twenty updates of each client here instead of the case's 30 seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b27_concurrent_writers_lose_nothing() {
    let cloud = FakeProvider::new(&Clock::system(), |_| ok().into());
    let system = Arc::new(Setup::new().provider("toy", cloud).start().await);
    for i in 0..10 {
        let spec = json!({ "name": format!("m{i}"), "image": "i:1", "tiers": pod("60s") });
        system.admin.deploy(spec).await;
    }
    let mut writers = Vec::new();
    for client in 0..50 {
        let admin = system.admin.clone();
        writers.push(tokio::spawn(async move {
            let name = format!("m{}", client % 10);
            let key = format!("CLIENT_{client}");
            for update in 0..20 {
                if update % 7 == 3 {
                    let aborted = admin.clone();
                    let (name, other) = (name.clone(), json!({ "env": { "ABORTED": "x" } }));
                    let task = tokio::spawn(async move { aborted.patch(&name, other).await });
                    tokio::task::yield_now().await;
                    task.abort();
                }
                admin
                    .patch(&name, json!({ "env": { &key: update.to_string() } }))
                    .await;
            }
        }));
    }
    let over = Arc::new(AtomicBool::new(false));
    let reader = tokio::spawn({
        let (admin, over) = (system.admin.clone(), over.clone());
        async move {
            while !over.load(Ordering::Relaxed) {
                let (status, body) = admin.call(reqwest::Method::GET, "/deployments", None).await;
                assert_eq!(status, 200, "{body}");
            }
        }
    });
    for writer in writers {
        writer.await.unwrap();
    }
    over.store(true, Ordering::Relaxed);
    reader.await.unwrap();
    for client in 0..50 {
        let deployment = system.admin.deployment(&format!("m{}", client % 10)).await;
        let last = &deployment["spec"]["env"][format!("CLIENT_{client}")];
        assert_eq!(last, "19", "client {client}");
    }
}
