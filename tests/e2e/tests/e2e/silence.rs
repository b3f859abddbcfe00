//! A provider that does not answer: nobody waits for it, what else there is
//! serves, and people read which one it is and since when.

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_provider::ProviderErrorKind::{Unanswered, Unreachable};
use thermocline_support::backend::Latch;
use thermocline_support::provider::{Call, Fault};

use crate::scene::{SECOND, Scene, both_tiers, ok, pod, secs};

const CALLS: [Call; 6] = [
    Call::Capabilities,
    Call::Offers,
    Call::Create,
    Call::Get,
    Call::List,
    Call::Delete,
];

/// Every call of the cloud goes wrong as `fault` until the latch opens.
fn silence(scene: &Scene, fault: Fault) -> Latch {
    let back = Latch::new();
    for call in CALLS {
        scene.cloud.fail_until(call, &back, fault);
    }
    back
}

async fn providers(scene: &Scene) -> Value {
    scene.admin(Method::GET, "/providers").await.1["items"][0].clone()
}

#[tokio::test]
async fn who_wants_what_nobody_can_start_is_told_so_at_once() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("60s"), json!({})).await;
    let back = silence(&scene, Fault::Refused(Unreachable));
    scene.pass(secs(12)).await;
    let refused = scene.get().await;
    assert_eq!(refused.status, 503, "no time has passed");
    assert!(
        refused.text().contains("\"unavailable\""),
        "{}",
        refused.text()
    );
    assert!(refused.header("retry-after").is_some());
    let status = scene.status().await;
    let told = "provider toy has not answered since 2027-01-15T08:00:0";
    assert_eq!(
        status["instances"],
        json!([]),
        "nothing is wished for that cannot be"
    );
    let reason = status["reason"].as_str().unwrap();
    assert!(reason.contains(told), "{reason}");
    let warning = status["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with(told), "{warning}");
    let another = json!({ "name": "n", "image": "i:1", "tiers": pod("60s") });
    scene.system.admin.deploy(another).await;
    let since = providers(&scene).await["unanswered_since"].clone();
    assert!(since.as_str().unwrap().starts_with("2027-01-15T08:00:0"));

    scene.pass(secs(600)).await;
    back.open();
    assert_eq!(scene.get().await.status, 503, "nobody has asked it since");
    scene.pass(secs(6)).await;
    assert_eq!(scene.get().await.status, 200, "and no back-off is left");
    assert_eq!(providers(&scene).await["unanswered_since"], json!(null));
}

/// A create that was sent and never answered may have made something, so it is
/// looked for; but nobody waits for it.
#[tokio::test]
async fn a_start_that_hangs_keeps_nobody_waiting_and_is_looked_for() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("60s"), json!({})).await;
    let back = silence(&scene, Fault::LostReply(Unanswered));
    let request = scene.send("5m").await;
    let refused = scene.answered(SECOND, request).await;
    let waited = scene.elapsed();
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(waited <= secs(20), "it waited {waited:?}");
    scene.admin(Method::DELETE, "/deployments/m").await;
    let told = async || {
        let status = scene.status().await;
        let why = status["last_error"].as_str().unwrap_or_default().to_owned();
        why.starts_with("waits for provider toy: which has not answered since ")
    };
    scene.until(SECOND, told).await;
    scene.pass(secs(600)).await;
    back.open();
    let healed = scene.elapsed();
    scene
        .until(SECOND, async || scene.status().await.is_null())
        .await;
    assert!(scene.elapsed() - healed <= secs(60));
    assert_eq!(scene.cloud.truth().live.len(), 0);
}

/// Nobody is there from the first request on: that is known after five seconds.
#[tokio::test]
async fn the_first_request_waits_no_longer_than_a_blip_lasts() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("60s"), json!({})).await;
    let _back = silence(&scene, Fault::Refused(Unreachable));
    let since = scene.elapsed();
    let sent = scene.send("60s").await;
    let refused = scene.answered(SECOND / 10, sent).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    let waited = scene.elapsed() - since;
    assert!(waited <= secs(6), "it waited {waited:?}");
}

#[tokio::test]
async fn a_blip_is_bridged() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("60s"), json!({})).await;
    let back = silence(&scene, Fault::Refused(Unreachable));
    let request = scene.send("60s").await;
    scene.pass_in(secs(3), SECOND / 10).await;
    back.open();
    assert_eq!(scene.answered(SECOND / 10, request).await.status, 200);
    assert_eq!(scene.cloud.truth().created, 1);
}

/// The pod's provider is silent: serverless of the other one serves.
#[tokio::test]
async fn the_next_tier_serves_while_the_pods_provider_is_silent() {
    let scene = Scene::new(ok()).await;
    let mut tiers = both_tiers();
    tiers["serverless"]["provider"] = json!("other");
    let other =
        thermocline_support::provider::FakeProvider::new(&scene.time.clock(), |_| ok().into());
    let scene = scene.beside("other", other).await;
    let policy = json!({ "window": "60s", "promote_rps": 0.1, "demote_rps": 0.05 });
    scene.deploy(tiers, json!({ "policy": policy })).await;
    assert_eq!(scene.get().await.status, 200);
    let _back = silence(&scene, Fault::Refused(Unreachable));
    scene.pass(secs(12)).await;
    for _ in 0..10 {
        let answer = scene.get().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("x-thermocline-tier"), Some("serverless"));
    }
    assert_eq!(scene.cloud.truth().live.len(), 0);
}
