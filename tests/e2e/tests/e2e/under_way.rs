//! What is under way, or may be begun, is waited for; what nobody waits for any more is
//! not begun.

use serde_json::{Value, json};
use thermocline_policy::Tier;
use thermocline_provider::ProviderErrorKind::NoCapacity;
use thermocline_support::backend::Latch;
use thermocline_support::provider::{Boot, Call, FakeProvider, Fault, offer};

use crate::scene::{SECOND, Scene, both_tiers, ok, pod, secs};

/// Serverless of a provider that is sold out until the latch opens, pods of another one
/// that take five seconds to boot.
async fn sold_out() -> (Scene, Latch) {
    let scene = Scene::new(ok()).await;
    let other = FakeProvider::new(&scene.time.clock(), |_| ok().into());
    let back = Latch::new();
    other.fail_until(Call::Create, &back, Fault::Refused(NoCapacity));
    let scene = scene.beside("other", other).await;
    scene.cloud.set_boot_of(Tier::Pod, Boot::After(secs(5)));
    let mut tiers = both_tiers();
    tiers["serverless"]["provider"] = json!("other");
    let policy = json!({ "window": "60s", "promote_rps": 0.1, "demote_rps": 0.05 });
    scene.deploy(tiers, json!({ "policy": policy })).await;
    (scene, back)
}

#[tokio::test]
async fn where_serverless_is_sold_out_a_pod_is_begun_and_waited_for() {
    let (scene, _back) = sold_out().await;
    let first = scene.send("60s").await;
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    let second = scene.send("60s").await;
    for (sent, start) in [(first, "cold"), (second, "joined")] {
        let answer = scene.answered(SECOND / 4, sent).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("x-thermocline-tier"), Some("pod"));
        assert_eq!(answer.header("x-thermocline-start"), Some(start));
    }
    assert_eq!(scene.cloud.truth().created, 1);
}

#[tokio::test]
async fn a_pod_that_boots_already_is_waited_for_and_serverless_comes_back() {
    let (scene, back) = sold_out().await;
    let mut sent = Vec::new();
    for _ in 0..8 {
        sent.push(scene.send("60s").await);
    }
    for sent in sent {
        let answer = scene.answered(SECOND / 4, sent).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(scene.cloud.truth().created, 1);
    back.open();
    let serverless = async || {
        let answer = scene.get().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.header("x-thermocline-tier") == Some("serverless")
    };
    scene.until(secs(20), serverless).await;
}

#[tokio::test]
async fn where_neither_can_be_had_the_answer_comes_at_once() {
    let (scene, _back) = sold_out().await;
    let never = Latch::new();
    let fault = Fault::Refused(NoCapacity);
    scene.cloud.fail_until(Call::Create, &never, fault);
    let refused = scene.get().await;
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("\"no_capacity\""));
}

/// A request that waits for a pod that boots for ever, and the pod's id.
async fn waits_for_a_pod(scene: &Scene) -> (crate::scene::Sent, String) {
    scene.cloud.set_boot(Boot::Never);
    let sent = scene.send("60s").await;
    scene.until_live(1).await;
    scene.pass(secs(2)).await;
    (sent, scene.cloud.truth().live[0].id.clone())
}

#[tokio::test]
async fn who_waits_for_a_pod_that_a_person_deletes_is_served_by_the_next() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("10m"), json!({})).await;
    let (sent, id) = waits_for_a_pod(&scene).await;
    scene.cloud.set_boot(Boot::AtOnce);
    scene.cloud.vanish(&id).await;
    let answer = scene.answered(SECOND / 4, sent).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(scene.cloud.truth().created, 2);
}

#[tokio::test]
async fn a_start_that_vanishes_twice_is_a_failed_one() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("10m"), json!({})).await;
    let (sent, id) = waits_for_a_pod(&scene).await;
    scene.cloud.vanish(&id).await;
    let another = async || scene.cloud.truth().created == 2;
    scene.until(SECOND / 4, another).await;
    scene.pass(secs(2)).await;
    scene.cloud.vanish(&scene.cloud.truth().live[0].id).await;
    let refused = scene.answered(SECOND / 4, sent).await;
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("\"start_failed\""));
    assert_eq!(scene.cloud.truth().created, 2);
}

#[tokio::test]
async fn nothing_is_begun_in_place_of_a_pod_that_vanished_when_nobody_waits() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("10m"), json!({})).await;
    let (sent, id) = waits_for_a_pod(&scene).await;
    sent.abort();
    waiting(&scene, 0).await;
    scene.cloud.vanish(&id).await;
    scene.pass(secs(60)).await;
    assert_eq!(scene.cloud.truth().created, 1);
}

/// The price that a budget asks for takes its time.
#[tokio::test]
async fn nothing_is_begun_for_clients_that_have_left() {
    let scene = Scene::new(ok()).await;
    let asked = Latch::new();
    scene
        .cloud
        .set_offers(Tier::Pod, vec![offer(Some(1.2), None)]);
    let budget = json!({ "budget": { "usd_per_day": 100 } });
    scene.deploy(pod("10m"), budget).await;
    scene.cloud.hold(Call::Offers, &asked);
    let sent = scene.send("60s").await;
    waiting(&scene, 1).await;
    sent.abort();
    waiting(&scene, 0).await;
    asked.open();
    scene.pass(secs(30)).await;
    assert_eq!(scene.cloud.truth().created, 0);
    let next = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND / 4, next).await.status, 200);
}

async fn waiting(scene: &Scene, count: u64) {
    let are = |status: &Value| status["waiting"] == count;
    scene.system.admin.wait_status("m", are).await;
}
