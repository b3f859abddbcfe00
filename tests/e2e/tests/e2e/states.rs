//! What a deployment reads while it sleeps, wakes, fails and goes.

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_provider::ProviderErrorKind;
use thermocline_support::backend::{Gate, Latch, Reply};
use thermocline_support::provider::{Boot, Call, Fault};

use crate::scene::{SECOND, Scene, both_tiers, ok, pod, secs};

async fn cold() -> Scene {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("60s"), json!({})).await;
    scene
}

#[tokio::test]
async fn b48_zero_running_stopped_and_failed_are_four_states() {
    let scene = cold().await;
    for _ in 0..5 {
        assert_eq!(scene.get().await.status, 200);
    }
    scene.until_live(0).await;
    assert_eq!(scene.until_state("idle").await["state"], "idle");
    let ready = Latch::new();
    scene.cloud.set_boot(Boot::WhenOpen(ready.clone()));
    let request = scene.send("60s").await;
    scene.until_state("starting").await;
    ready.open();
    assert_eq!(scene.answered(SECOND / 10, request).await.status, 200);
    assert_eq!(scene.status().await["state"], "running");
    assert_eq!(
        scene.admin(Method::POST, "/deployments/m/sleep").await.0,
        202
    );
    let stopped = scene.until_state("stopped").await;
    assert_eq!(stopped["reason"], "stopped by a person");
    scene.until_live(0).await;
    scene.cloud.set_boot(Boot::Exits(SECOND, 3));
    assert_eq!(
        scene.admin(Method::POST, "/deployments/m/wake").await.0,
        202
    );
    let failed = scene.until_state("failed").await;
    assert_eq!(failed["reason"], "start_failed: exit code 3");
}

#[tokio::test]
async fn a_pod_that_cannot_be_had_is_no_failure_while_serverless_serves() {
    let scene = Scene::new(ok()).await;
    let policy = json!({ "window": "60s", "promote_rps": 0.1, "demote_rps": 0.05 });
    scene
        .deploy(both_tiers(), json!({ "policy": policy }))
        .await;
    assert_eq!(scene.get().await.status, 200);
    let sold_out = Fault::Refused(ProviderErrorKind::NoCapacity);
    scene.cloud.fail_next(Call::Create, 1_000, sold_out);
    scene.step(SECOND).await;
    for _ in 0..8 {
        assert_eq!(scene.get().await.status, 200);
    }
    let told = async |state: &str| {
        let why = |status: &Value| status["reason"].as_str().unwrap_or_default().to_owned();
        let is_told = async || {
            let status = scene.status().await;
            let why = why(&status);
            status["state"] == state && why.starts_with("another start failed: no_capacity")
        };
        scene.until(SECOND / 10, is_told).await;
        let status = scene.status().await;
        assert_eq!(status["tier"], "serverless", "{status}");
    };
    told("running").await;
    scene.pass(secs(120)).await;
    told("idle").await;
}

#[tokio::test]
async fn asleep_it_answers_503_until_it_is_woken() {
    let scene = cold().await;
    assert_eq!(
        scene.admin(Method::POST, "/deployments/m/sleep").await.0,
        202
    );
    let refused = scene.get().await;
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("stopped"), "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    assert_eq!(scene.cloud.truth().created, 0);
    let scene = scene.crash(secs(1)).await;
    assert_eq!(
        scene.status().await["state"],
        "stopped",
        "over a restart too"
    );
    assert_eq!(
        scene.admin(Method::POST, "/deployments/m/wake").await.0,
        202
    );
    scene.until_state("running").await;
    assert_eq!(
        scene.get().await.header("x-thermocline-start"),
        Some("warm")
    );
}

/// A pod whose response is in the test's hands, with one request in it.
async fn busy() -> (Scene, Gate, crate::scene::Sent) {
    let gate = Gate::new();
    let work = Reply::new(200).gated(&gate);
    let script = thermocline_support::backend::Script::from_fn(|_| ok()).on("/x", work);
    let scene = Scene::new(script).await;
    scene
        .deploy(pod("60s"), json!({ "limits": { "idle": "1h" } }))
        .await;
    let request = scene.send("1h").await;
    gate.write("first");
    scene
        .until(SECOND / 10, async || scene.status().await["in_flight"] == 1)
        .await;
    (scene, gate, request)
}

#[tokio::test]
async fn sleep_lets_the_work_in_hand_end() {
    let (scene, gate, request) = busy().await;
    assert_eq!(
        scene.admin(Method::POST, "/deployments/m/sleep").await.0,
        202
    );
    assert_eq!(scene.status().await["state"], "draining");
    scene.pass(secs(30)).await;
    assert_eq!(scene.first_delete(), None);
    gate.write(", last");
    gate.finish();
    assert_eq!(scene.answered(SECOND, request).await.text(), "first, last");
    scene.until_live(0).await;
    assert_eq!(scene.status().await["state"], "stopped");
}

#[tokio::test]
async fn delete_drains_then_tears_down_and_is_gone_when_that_is_certain() {
    let (scene, gate, request) = busy().await;
    let (status, body) = scene.admin(Method::DELETE, "/deployments/m").await;
    assert_eq!(
        (status, &body["status"]["state"]),
        (202, &json!("deleting"))
    );
    scene.pass(secs(30)).await;
    assert_eq!(scene.first_delete(), None);
    assert_eq!(scene.get().await.status, 503, "no new work");
    let stopped = Latch::new();
    scene.cloud.stop_slowly(&stopped);
    gate.finish();
    assert_eq!(scene.answered(SECOND, request).await.text(), "first");
    scene.pass(secs(60)).await;
    assert_eq!(
        scene.status().await["state"],
        "deleting",
        "its absence is not certain"
    );
    stopped.open();
    scene
        .until(SECOND, async || scene.status().await.is_null())
        .await;
    assert_eq!(scene.get().await.status, 404);
}

#[tokio::test]
async fn b09_a_refused_delete_is_shown_retried_and_heals() {
    let scene = cold().await;
    assert_eq!(scene.get().await.status, 200);
    let healed = Latch::new();
    let refused = Fault::Refused(ProviderErrorKind::Auth);
    scene.cloud.fail_until(Call::Delete, &healed, refused);
    assert_eq!(scene.admin(Method::DELETE, "/deployments/m").await.0, 202);
    scene.pass_in(secs(600), secs(5)).await;
    let status = scene.status().await;
    assert_eq!(status["state"], "deleting");
    assert!(
        status["last_error"]
            .as_str()
            .unwrap()
            .starts_with("waits for provider toy: auth"),
        "{status}"
    );
    let attempts = scene.cloud.truth().count(Call::Delete);
    assert!(
        (8..=20).contains(&attempts),
        "{attempts} attempts in 10 min"
    );
    let metrics = scene.system.admin.metrics().await;
    let counted = r#"provider_calls_total{provider="toy",call="delete",result="auth"}"#;
    assert!(metrics.contains(counted), "{metrics}");
    healed.open();
    scene
        .until(secs(10), async || scene.status().await.is_null())
        .await;
    assert!(scene.cloud.truth().live.is_empty());
}

/// The one that is gone and the one that took its name are two deployments.
#[tokio::test]
async fn a_name_can_be_used_again_at_once() {
    let scene = cold().await;
    for _ in 0..20 {
        assert_eq!(scene.admin(Method::DELETE, "/deployments/m").await.0, 202);
        scene
            .until(SECOND, async || scene.status().await.is_null())
            .await;
        scene.deploy(pod("60s"), json!({})).await;
        scene.settle().await;
        assert_eq!(scene.status().await["state"], "idle");
    }
    assert_eq!(scene.get().await.status, 200);
}

#[tokio::test]
async fn b38_a_failed_promotion_leaves_serverless_serving_and_is_written_down() {
    let scene = Scene::new(ok()).await;
    // A tenth of the case's 3 rps and 2 rps.
    let policy = json!({ "window": "60s", "promote_rps": 0.2, "demote_rps": 0.1 });
    scene
        .deploy(both_tiers(), json!({ "policy": policy }))
        .await;
    assert_eq!(scene.get().await.status, 200); // the endpoint exists
    scene.cloud.set_capacity(1);
    for _ in 0..60 {
        for _ in 0..3 {
            let response = scene.get().await;
            assert_eq!(response.status, 200);
            assert_eq!(response.header("x-thermocline-tier"), Some("serverless"));
        }
        scene.pass(secs(10)).await;
        let status = scene.status().await;
        assert!(
            status["instances"].as_array().unwrap().len() <= 2,
            "{status}"
        );
    }
    let attempts = scene.cloud.truth().count(Call::Create) - 1;
    assert!((2..=10).contains(&attempts), "{attempts} attempts");
    let reason = scene.status().await["reason"].to_string();
    assert!(reason.contains("no_capacity"), "{reason}");
    let (_, decisions) = scene.admin(Method::GET, "/deployments/m/decisions").await;
    let refused = |d: &Value| d["refused"] == true && d["reason"] == "no_capacity";
    let items = decisions["items"].as_array().unwrap();
    assert!(items.iter().any(refused), "{decisions}");
    scene.cloud.set_capacity(2);
    let before = scene.cloud.truth().count(Call::Create);
    scene
        .until(secs(3), async || {
            let response = scene.get().await;
            assert_eq!(response.status, 200);
            response.header("x-thermocline-tier") == Some("pod")
        })
        .await;
    assert_eq!(scene.cloud.truth().count(Call::Create), before + 1);
}
