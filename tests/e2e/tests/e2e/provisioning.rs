//! Nothing that costs money is lost or made twice.

use reqwest::Method;
use serde_json::json;
use thermocline_provider::{InstanceRequest, Provider, ProviderErrorKind};
use thermocline_support::backend::Latch;
use thermocline_support::provider::{Boot, Call, Fault};

use crate::scene::{SECOND, Scene, ok, pod, secs};

async fn cold() -> Scene {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("10m"), json!({})).await;
    scene
}

async fn refusal(kind: ProviderErrorKind) -> (u16, String, u64) {
    let scene = cold().await;
    scene.cloud.fail_next(Call::Create, 1, Fault::Refused(kind));
    let response = scene.get().await;
    let retry = response
        .header("retry-after")
        .unwrap_or("-")
        .parse()
        .unwrap_or(0);
    let problem: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
    scene
        .until(SECOND, async || {
            scene.status().await["instances"] == json!([])
        })
        .await;
    assert_eq!(scene.cloud.truth().created, 0);
    (
        response.status,
        problem["code"].as_str().unwrap().to_owned(),
        retry,
    )
}

#[tokio::test]
async fn a_refused_create_is_a_503_that_says_what_a_client_can_do() {
    use ProviderErrorKind as Kind;
    for (kind, told) in [
        (Kind::NoCapacity, "no_capacity"),
        (Kind::Quota, "no_capacity"),
        (Kind::Auth, "start_failed"),
        (Kind::Invalid, "start_failed"),
        (Kind::PortConflict, "port_conflict"),
    ] {
        let (status, code, retry) = refusal(kind).await;
        assert_eq!((status, code.as_str()), (503, told), "{kind:?}");
        assert!((1..=120).contains(&retry), "{code}: {retry}");
    }
}

/// It would be paid for until its time is over, and never serve.
#[tokio::test]
async fn an_address_that_can_never_be_sent_to_ends_a_start_and_is_told() {
    let scene = cold().await;
    scene.cloud.set_header("content-length", "5");
    let response = scene.get().await;
    assert_eq!(response.status, 503);
    let status = scene.status().await;
    let told = status["reason"].as_str().unwrap_or_default();
    assert!(told.contains("content-length"), "{status}");
    scene
        .until(SECOND, async || scene.cloud.truth().live.is_empty())
        .await;
}

/// The client is told what it can do, the operator what the provider said.
#[tokio::test]
async fn what_a_provider_said_is_for_the_operator_alone() {
    let scene = cold().await;
    let refused = Fault::Refused(ProviderErrorKind::Invalid);
    scene.cloud.fail_next(Call::Create, 1, refused);
    let response = scene.get().await;
    assert_eq!(response.status, 503);
    for header in ["tier", "start", "reason"] {
        let name = format!("x-thermocline-{header}");
        assert!(response.header(&name).is_some(), "{name} is missing");
    }
    let told = response.text();
    assert!(!told.contains("invalid") && !told.contains("toy"), "{told}");
    let status = scene.status().await;
    assert!(
        status["reason"].as_str().unwrap().starts_with("invalid"),
        "{status}"
    );
    scene.step(SECOND).await;
    let events = crate::events::told(&scene).await;
    assert!(events.contains("instance.failed"), "{events}");
}

#[tokio::test]
async fn a_rate_limit_says_when_and_nothing_is_asked_before() {
    let scene = cold().await;
    let limit = ProviderErrorKind::RateLimited(Some(secs(7)));
    scene
        .cloud
        .fail_next(Call::Create, 1, Fault::Refused(limit));
    let response = scene.get().await;
    assert_eq!(
        (response.status, response.header("retry-after")),
        (503, Some("7"))
    );
    let calls = scene.cloud.truth().calls.len();
    scene.pass(secs(5)).await;
    assert_eq!(
        scene.cloud.truth().calls.len(),
        calls,
        "it asked for 7 s of quiet"
    );
    scene.pass(secs(3)).await;
    assert_eq!(scene.get().await.status, 200);
}

#[tokio::test]
async fn a_create_whose_reply_is_lost_makes_one_instance() {
    let scene = cold().await;
    let lost = Fault::LostReply(ProviderErrorKind::Unavailable);
    scene.cloud.fail_next(Call::Create, 2, lost);
    let request = scene.send("60s").await;
    let response = scene.answered(SECOND / 4, request).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let truth = scene.cloud.truth();
    assert_eq!((truth.created, truth.live.len()), (1, 1));
}

/// The first create has its effect unseen, and the second is refused for
/// certain: that says nothing about the first.
#[tokio::test]
async fn a_refusal_after_a_lost_reply_is_no_proof_of_absence() {
    let scene = cold().await;
    let lost = Fault::LostReply(ProviderErrorKind::Unavailable);
    scene.cloud.fail_next(Call::Create, 1, lost);
    scene
        .cloud
        .fail_next(Call::Create, 1, Fault::Refused(ProviderErrorKind::Auth));
    let request = scene.send("60s").await;
    let response = scene.answered(SECOND / 4, request).await;
    assert_eq!(response.status, 503, "{}", response.text());
    scene.until_live(0).await;
    let events = crate::events::told(&scene).await;
    assert!(!events.contains("orphan.deleted"), "it was never forgotten");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    CreateBeforeEffect,
    CreateAfterEffect,
    Booting,
    Ready,
    Draining,
    Deleting,
}

/// Brings the scene to just that step.
async fn at(step: Step) -> (Scene, Latch) {
    let scene = cold().await;
    let latch = Latch::new();
    match step {
        Step::CreateBeforeEffect => scene.cloud.hold(Call::Create, &latch),
        Step::CreateAfterEffect => {
            let lost = Fault::LostReply(ProviderErrorKind::Unavailable);
            scene.cloud.fail_until(Call::Create, &latch, lost);
        }
        Step::Booting => scene.cloud.set_boot(Boot::WhenOpen(latch.clone())),
        Step::Ready | Step::Draining => latch.open(),
        Step::Deleting => scene.cloud.hold(Call::Delete, &latch),
    }
    assert_eq!(
        scene.admin(Method::POST, "/deployments/m/wake").await.0,
        202
    );
    scene
        .cloud
        .wait_for(|truth| truth.count(Call::Create) > 0)
        .await;
    if let Step::Ready | Step::Draining | Step::Deleting = step {
        scene.until_state("running").await;
    }
    if let Step::Draining | Step::Deleting = step {
        assert_eq!(
            scene.admin(Method::POST, "/deployments/m/sleep").await.0,
            202
        );
    }
    if let Step::Deleting = step {
        scene
            .cloud
            .wait_for(|truth| truth.count(Call::Delete) > 0)
            .await;
    }
    (scene, latch)
}

/// After a crash at `step` nothing is lost, doubled or forgotten.
async fn crash_at(step: Step) {
    let (scene, latch) = at(step).await;
    let tier = scene.status().await["tier"].clone();
    let scene = scene.crash(secs(5)).await;
    latch.open();
    if tier != json!(null) {
        assert_eq!(scene.status().await["tier"], tier, "{step:?}");
    }
    let asleep = matches!(step, Step::Draining | Step::Deleting);
    let live = usize::from(!asleep);
    scene.until_live(live).await;
    scene.pass(secs(60)).await;
    let known = async || scene.status().await["instances"].as_array().unwrap().len();
    scene.until(SECOND, async || known().await == live).await;
    let truth = scene.cloud.truth();
    assert_eq!(truth.live.len(), live, "{step:?}");
    assert_eq!((truth.created, truth.most_live), (1, 1), "{step:?}");
    if !asleep {
        assert_eq!(scene.get().await.status, 200, "{step:?}");
    }
}

#[tokio::test]
async fn a_crash_before_a_create_takes_effect() {
    crash_at(Step::CreateBeforeEffect).await;
}

#[tokio::test]
async fn a_crash_after_a_create_took_effect() {
    crash_at(Step::CreateAfterEffect).await;
}

#[tokio::test]
async fn b07_a_crash_between_created_and_ready() {
    crash_at(Step::Booting).await;
}

#[tokio::test]
async fn a_crash_while_ready() {
    crash_at(Step::Ready).await;
}

#[tokio::test]
async fn a_crash_while_draining() {
    crash_at(Step::Draining).await;
}

#[tokio::test]
async fn a_crash_while_deleting() {
    crash_at(Step::Deleting).await;
}

/// An instance at the cloud that this installation never intended.
async fn foundling(scene: &Scene, owner: &str) {
    let request = json!({
        "owner": owner, "deployment": "m", "tier": "pod", "image": "i:1", "port": 8000,
    });
    let request: InstanceRequest = serde_json::from_value(request).unwrap();
    scene.cloud.create("unknown-key", &request).await.unwrap();
}

async fn our_owner(scene: &Scene) -> String {
    let truth = scene
        .cloud
        .wait_for(|truth| truth.count(Call::List) > 0)
        .await;
    let list = truth.calls.iter().find(|seen| seen.call == Call::List);
    list.unwrap().subject.clone()
}

#[tokio::test]
async fn an_orphan_is_deleted_after_30_seconds() {
    let scene = cold().await;
    foundling(&scene, &our_owner(&scene).await).await;
    scene.pass(secs(29)).await;
    assert_eq!(scene.cloud.truth().live.len(), 1);
    scene.until_live(0).await;
    assert!(scene.elapsed() <= secs(60), "{:?}", scene.elapsed());
    let metrics = scene.system.admin.metrics().await;
    let counted = r#"thermocline_orphans_total{provider="toy",action="deleted"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn an_orphan_that_cannot_be_deleted_is_counted_once() {
    let scene = cold().await;
    let healed = Latch::new();
    let refused = Fault::Refused(ProviderErrorKind::Auth);
    scene.cloud.fail_until(Call::Delete, &healed, refused);
    foundling(&scene, &our_owner(&scene).await).await;
    scene.pass(secs(180)).await;
    let attempts = scene.cloud.truth().count(Call::Delete);
    assert!((2..=8).contains(&attempts), "{attempts} attempts in 150 s");
    healed.open();
    scene.until_live(0).await;
    let events = crate::events::told(&scene).await;
    assert_eq!(events.matches("orphan.deleted").count(), 1);
}

#[tokio::test]
async fn what_another_installation_owns_is_never_touched() {
    let scene = cold().await;
    foundling(&scene, "somebody-else").await;
    scene.pass(secs(120)).await;
    let truth = scene.cloud.truth();
    assert_eq!((truth.live.len(), truth.count(Call::Delete)), (1, 0));
}

#[tokio::test]
async fn an_incomplete_list_concludes_nothing() {
    let scene = cold().await;
    assert_eq!(scene.get().await.status, 200);
    for fault in [
        Fault::Incomplete,
        Fault::Refused(ProviderErrorKind::Unavailable),
    ] {
        let over = Latch::new();
        scene.cloud.fail_until(Call::List, &over, fault);
        scene.pass(secs(60)).await;
        over.open();
    }
    let blind = Latch::new();
    scene.cloud.fail_until(Call::List, &blind, Fault::Blind);
    scene.pass(secs(60)).await;
    assert_eq!(
        scene.get().await.header("x-thermocline-start"),
        Some("warm")
    );
    assert_eq!(scene.cloud.truth().created, 1);
}

#[tokio::test]
async fn an_instance_that_vanished_is_replaced_when_it_is_needed() {
    let scene = cold().await;
    assert_eq!(scene.get().await.status, 200);
    let id = scene.cloud.truth().live[0].id.clone();
    scene.cloud.vanish(&id).await;
    let noticed = async || scene.status().await["instances"] == json!([]);
    scene.until(SECOND, noticed).await;
    let request = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND, request).await.status, 200);
    assert_eq!(scene.cloud.truth().live.len(), 1);
}

/// Three requests, one after the other, each past the pause after the failure
/// before it: every start is given up, told, and leaves nothing that is paid for.
#[tokio::test]
async fn b07_an_instance_that_never_gets_ready_is_not_left_behind() {
    let scene = Scene::new(ok()).await;
    let health = json!({ "start_timeout": "5s" });
    scene.deploy(pod("10m"), json!({ "health": health })).await;
    scene.cloud.set_boot(Boot::Never);
    for starts in 1..=3 {
        let request = scene.send("60s").await;
        let response = scene.answered(SECOND, request).await;
        let problem: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(response.status, 503, "{problem}");
        assert_eq!(problem["code"], "start_timeout");
        scene.until_live(0).await;
        let forgotten = async || scene.status().await["instances"] == json!([]);
        scene.until(SECOND, forgotten).await;
        assert_eq!(scene.cloud.truth().created, starts);
        scene.pass(secs(120)).await;
    }
    assert_eq!(scene.cloud.truth().most_live, 1);
}

#[tokio::test]
async fn b08_a_young_instance_hidden_from_every_call_is_not_forgotten() {
    let scene = cold().await;
    scene.cloud.hide_young_from(Call::List, 2);
    scene.cloud.hide_young_from(Call::Delete, 1);
    scene.cloud.hide_young_from(Call::Get, 2);
    scene.cloud.set_boot(Boot::Never);
    assert_eq!(
        scene.admin(Method::POST, "/deployments/m/wake").await.0,
        202
    );
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    assert_eq!(scene.admin(Method::DELETE, "/deployments/m").await.0, 202);
    scene
        .until(SECOND, async || scene.status().await.is_null())
        .await;
    let truth = scene.cloud.truth();
    assert_eq!((truth.live.len(), truth.created), (0, 1));
}

/// Nothing was made, and the provider has said so: nobody looks for it.
#[tokio::test]
async fn b08_a_create_that_is_refused_fails_at_once_and_is_not_searched_for() {
    let scene = cold().await;
    let refused = Fault::Refused(ProviderErrorKind::Invalid);
    scene.cloud.fail_next(Call::Create, 1, refused);
    assert_eq!(scene.get().await.status, 503);
    assert_eq!(scene.elapsed(), secs(0));
    scene.pass(secs(60)).await;
    let truth = scene.cloud.truth();
    assert_eq!((truth.count(Call::Create), truth.created), (1, 0));
    assert_eq!((truth.count(Call::Get), truth.count(Call::Delete)), (0, 0));
    let lists: Vec<_> = truth.times(Call::List).collect();
    let pauses = lists.windows(2).map(|two| two[1].since(two[0]));
    assert!(pauses.min() >= Some(secs(5)), "the sweep alone looks");
}

/// What a person must act on is told where people look, until something is created again.
#[tokio::test]
async fn an_account_without_credit_is_told_as_such() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("60s"), json!({})).await;
    let fault = Fault::Refused(ProviderErrorKind::NoCredit);
    scene.cloud.fail_next(Call::Create, 1, fault);
    assert_eq!(scene.get().await.status, 503);
    let provider = async || {
        let (_, all) = scene.admin(Method::GET, "/providers").await;
        all["items"][0].clone()
    };
    let told = provider().await;
    assert_eq!(told["health"], "no_credit", "{told}");
    assert_eq!(told["last_error"], "no credit: as the test wants it");
    let (_, decision) = scene.admin(Method::GET, "/deployments/m/decision").await;
    let obstacle = "the last pod start failed: quota: no credit: as the test wants it";
    assert_eq!(decision["obstacles"], json!([obstacle]));
    scene.pass(secs(10)).await;
    let sent = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND / 10, sent).await.status, 200);
    assert_eq!(provider().await["health"], "ok");
}
