//! The choices that were settled for the product as a whole.

use serde_json::json;
use thermocline_support::backend::Latch;
use thermocline_support::provider::Boot;

use crate::scene::{SECOND, Scene, both_tiers, ok, pod, secs};

/// Ten arrivals promote and nine do not; five keep a pod and four do not.
#[tokio::test]
async fn choice_1_thresholds_are_compared_as_counts() {
    let scene = Scene::new(ok()).await;
    let policy = json!({ "window": "100s", "promote_rps": 0.1, "demote_rps": 0.05 });
    scene
        .deploy(both_tiers(), json!({ "policy": policy }))
        .await;
    for nth in 1..=10 {
        let response = scene.get().await;
        let reason = response.header("x-thermocline-reason").unwrap();
        assert_eq!(
            reason == "below_promote",
            nth < 10,
            "request {nth}: {reason}"
        );
        scene.step(SECOND).await;
    }
    let on_pod = async || scene.status().await["tier"] == "pod";
    let count = async || {
        let path = "/deployments/m/decision";
        let (_, decision) = scene.admin(reqwest::Method::GET, path).await;
        decision["inputs"]["count"].as_u64().unwrap()
    };
    scene
        .until(SECOND, async || scene.elapsed() >= secs(96))
        .await;
    while count().await >= 5 {
        assert!(on_pod().await, "{} arrivals keep it", count().await);
        scene.step(SECOND).await;
    }
    scene.until(SECOND, async || !on_pod().await).await;
    assert_eq!(
        scene.transitions().await,
        ["serverless→pod", "pod→serverless"]
    );
}

#[tokio::test]
async fn choice_2_who_was_let_in_while_cold_is_not_refused_at_ready() {
    let scene = Scene::new(ok()).await;
    let ready = Latch::new();
    scene.cloud.set_boot(Boot::WhenOpen(ready.clone()));
    let more = json!({
        "cold_start": { "max_pending": 3 },
        "concurrency": { "strategy": "exclusive", "queue": 0 },
    });
    scene.deploy(pod("10m"), more).await;
    let mut let_in = Vec::new();
    for waiting in 1..=3 {
        let_in.push(scene.send("60s").await);
        let waits = |status: &serde_json::Value| status["waiting"] == waiting;
        scene.system.admin.wait_status("m", waits).await;
    }
    for _ in 0..2 {
        let refused = scene.get().await;
        assert_eq!(refused.status, 429, "{}", refused.text());
        assert!(refused.header("retry-after").is_some());
    }
    ready.open();
    for request in let_in {
        assert_eq!(scene.answered(SECOND / 4, request).await.status, 200);
    }
}

#[tokio::test]
async fn choice_3_a_start_that_everyone_left_is_finished_and_idle_from_ready_on() {
    let scene = Scene::new(ok()).await;
    scene.cloud.set_boot(Boot::After(secs(30)));
    scene.deploy(pod("60s"), json!({})).await;
    let request = scene.send("60s").await;
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    scene.step(SECOND).await;
    request.abort();
    scene.until_state("running").await;
    let ready = scene.time.now();
    scene
        .until(SECOND, async || scene.first_delete().is_some())
        .await;
    let idle = scene.first_delete().unwrap().since(ready);
    assert!((secs(57)..=secs(63)).contains(&idle), "{idle:?}");
}
