//! What is told of a pod that stopped for want of work.

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_policy::Tier;
use thermocline_provider::Offer;

use crate::events::told;
use crate::scene::{SECOND, Scene, ok, secs};

/// A deployment whose pod idles out long before the window is empty.
async fn promoted(policy: Value) -> Scene {
    let scene = Scene::new(ok()).await;
    for (tier, hour, second) in [
        (Tier::Pod, Some(0.36), None),
        (Tier::Serverless, None, Some(0.01)),
    ] {
        let offer = Offer {
            id: "o".to_owned(),
            gpu: "Fake 80".to_owned(),
            vram_mib: 80 << 10,
            usd_per_hour: hour,
            usd_per_second: second,
            region: String::new(),
            available: true,
        };
        scene.cloud.set_offers(tier, vec![offer]);
    }
    let tiers = json!({
        "serverless": { "provider": "toy", "idle_timeout": "2s" },
        "pod": { "provider": "toy", "max_instances": 1, "idle_timeout": "20s" },
    });
    scene.deploy(tiers, json!({ "policy": policy })).await;
    scene.pass(secs(40)).await;
    let on_pod = async || scene.status().await["tier"] == "pod";
    for _ in 0..60 {
        if on_pod().await {
            break;
        }
        let sent = scene.send("60s").await;
        assert_eq!(scene.answered(SECOND / 4, sent).await.status, 200);
        scene.step(SECOND).await;
    }
    assert!(on_pod().await, "{}", decision(&scene).await);
    scene
}

async fn decision(scene: &Scene) -> Value {
    scene.admin(Method::GET, "/deployments/m/decision").await.1
}

/// Nothing comes until the pod is gone.
async fn idle_stop(scene: &Scene) -> Value {
    let gone = async || scene.status().await["tier"] == "serverless";
    scene.until(SECOND, gone).await;
    decision(scene).await
}

#[tokio::test]
async fn an_idle_stop_is_told_and_the_next_request_decides_anew() {
    let policy = json!({ "window": "5m", "promote_rps": 0.05, "demote_rps": 0.01 });
    let scene = promoted(policy).await;
    let now = idle_stop(&scene).await;
    assert_eq!(
        (&now["tier"], &now["reason"]),
        (&json!("serverless"), &json!("idle"))
    );
    assert_eq!(
        (&now["meanwhile"], &now["inputs"]["pod"]),
        (&Value::Null, &json!("idled"))
    );
    assert_eq!(now["idle_stop"]["tier"], "pod");
    assert!(
        now["inputs"]["count"].as_u64() >= Some(15),
        "the window alone would promote: {now}"
    );
    let status = scene.status().await;
    assert_eq!(
        (&status["tier"], &status["reason"]),
        (&json!("serverless"), &json!("idle"))
    );

    let (_, decisions) = scene.admin(Method::GET, "/deployments/m/decisions").await;
    let last = &decisions["items"][0];
    let told_of = (&last["from"], &last["to"], &last["reason"]);
    assert_eq!(
        told_of,
        (&json!("pod"), &json!("serverless"), &json!("idle"))
    );
    let events = told(&scene).await;
    assert!(events.contains("pod stops for want of work"), "{events}");
    assert!(
        events.contains("pod instance is draining: idle"),
        "{events}"
    );

    assert_eq!(scene.get().await.status, 200);
    // It is written down a moment later.
    let decided_anew = async || scene.transitions().await.len() > 1;
    scene.until(SECOND, decided_anew).await;
    assert_eq!(
        scene.transitions().await,
        ["serverless→pod", "serverless→pod"]
    );
    assert_eq!(decision(&scene).await["idle_stop"], Value::Null);
}

#[tokio::test]
async fn a_change_of_tier_keeps_what_it_meant_in_money() {
    let scene = promoted(json!({ "mode": "regret" })).await;
    let (_, decisions) = scene.admin(Method::GET, "/deployments/m/decisions").await;
    let promotion = &decisions["items"][0];
    let regret = &promotion["costs"]["regret"];
    assert_eq!(
        (&promotion["to"], &regret["to"]),
        (&json!("pod"), &json!("pod"))
    );
    assert_eq!(regret["saved_usd"], regret["switch_usd"], "{promotion}");
    assert_eq!(promotion["inputs"]["basis"], "regret");
    assert_eq!(promotion["inputs"].get("costs"), None);
}

#[tokio::test]
async fn without_a_pod_tier_there_is_nothing_to_switch_to() {
    let scene = Scene::new(ok()).await;
    let tiers = json!({ "serverless": { "provider": "toy" } });
    scene
        .deploy(tiers, json!({ "policy": { "mode": "regret" } }))
        .await;
    scene.pass(secs(20)).await;
    let costs = decision(&scene).await["costs"].clone();
    assert_eq!(costs["regret"], Value::Null);
    assert_eq!(costs["break_even"]["answer"], "one_tier");
}
