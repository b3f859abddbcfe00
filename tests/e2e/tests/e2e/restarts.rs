//! What a new process makes of what the old one left.

use reqwest::Method;
use serde_json::json;
use thermocline_provider::ProviderErrorKind;
use thermocline_support::provider::{Call, Fault};

use crate::scene::{SECOND, Scene, both_tiers, ok, pod, secs, two_and_one};

async fn three_a_second(scene: &Scene, seconds: u64) {
    let mut client = scene.system.client().await;
    for i in 0..seconds * 3 {
        let response = client.request("GET", "/d/m/x").send().await.unwrap();
        assert_eq!(response.status, 200, "{}", response.text());
        scene
            .time
            .advance(std::time::Duration::from_nanos(333_333_333));
        if i % 10 == 0 {
            scene.settle().await;
        }
    }
}

#[tokio::test]
async fn b28_a_restart_keeps_a_busy_pod() {
    let scene = Scene::new(ok()).await;
    scene.deploy(both_tiers(), two_and_one()).await;
    three_a_second(&scene, 310).await;
    scene.until_state("running").await;
    assert_eq!(scene.status().await["tier"], "pod");
    let before = scene.cloud.truth();
    let scene = scene.crash(secs(5)).await;
    assert_eq!(scene.status().await["tier"], "pod");
    three_a_second(&scene, 310).await;
    assert_eq!(scene.status().await["tier"], "pod");
    let after = scene.cloud.truth();
    assert_eq!(after.live, before.live);
    assert_eq!(
        (after.created, after.count(Call::Delete)),
        (before.created, 0)
    );
    assert_eq!(scene.transitions().await, ["serverless→pod"]);
}

#[tokio::test]
async fn b28_a_restart_without_data_demotes_nothing_for_a_window() {
    let scene = Scene::new(ok()).await;
    scene.deploy(both_tiers(), two_and_one()).await;
    three_a_second(&scene, 210).await;
    scene.until_state("running").await;
    let scene = scene.crash(secs(5)).await;
    let restarted = scene.time.now();
    scene.pass_in(secs(295), secs(5)).await;
    assert_eq!(scene.status().await["tier"], "pod");
    let demoted = async || scene.status().await["tier"] == "serverless";
    scene.until(SECOND, demoted).await;
    assert!(scene.time.now().since(restarted) >= secs(300));
}

#[tokio::test]
async fn b28_a_restart_at_zero_starts_nothing() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("60s"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    scene.until_live(0).await;
    scene
        .until(SECOND, async || {
            scene.status().await["instances"] == json!([])
        })
        .await;
    let scene = scene.crash(secs(5)).await;
    scene.pass_in(secs(600), secs(5)).await;
    assert_eq!(scene.cloud.truth().created, 1);
}

#[tokio::test]
async fn a_deletion_goes_on_after_a_restart() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("10m"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    let stopped = thermocline_support::backend::Latch::new();
    scene.cloud.stop_slowly(&stopped);
    assert_eq!(scene.admin(Method::DELETE, "/deployments/m").await.0, 202);
    scene
        .cloud
        .wait_for(|truth| truth.count(Call::Delete) > 0)
        .await;
    let scene = scene.crash(secs(5)).await;
    assert_eq!(scene.status().await["state"], "deleting");
    stopped.open();
    scene
        .until(SECOND, async || scene.status().await.is_null())
        .await;
    assert!(scene.cloud.truth().live.is_empty());
}

#[tokio::test]
async fn a_wall_clock_that_went_back_over_a_restart_changes_nothing() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("10m"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    scene.time.set_wall(scene.time.wall() - secs(3600));
    let scene = scene.crash(secs(1)).await;
    assert_eq!(
        scene.get().await.header("x-thermocline-start"),
        Some("warm")
    );
    assert_eq!(scene.cloud.truth().created, 1);
}

/// The header is sealed under a key that the new process does not have.
#[tokio::test]
async fn an_address_that_cannot_be_read_any_more_is_asked_for_until_its_provider_says_it() {
    let scene = Scene::new(ok()).await;
    scene
        .cloud
        .set_header("x-instance-token", "0123456789abcdef");
    scene.deploy(pod("10m"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    let refused = Fault::Refused(ProviderErrorKind::Unavailable);
    scene.cloud.fail_next(Call::Get, 3, refused);
    let scene = scene.crash(secs(1)).await;
    let asked = scene.send("120s").await;
    let answer = scene.answered(SECOND, asked).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(scene.cloud.truth().created, 1);
}

/// Nothing can be done about it, and it may cost money: it is shown.
#[tokio::test]
async fn an_instance_whose_provider_is_not_configured_is_shown_and_never_forgotten() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("10m"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    let mut setup = scene.system.crash();
    let providers = std::mem::take(&mut setup.providers);
    let system = setup.start().await;
    let (_, list) = system.admin.call(Method::GET, "/instances", None).await;
    let instance = &list["items"][0];
    assert_eq!(
        (&instance["provider"], &instance["state"]),
        (&json!("toy"), &json!("unknown"))
    );
    let detail = instance["detail"].as_str().unwrap();
    assert!(detail.contains("toy is no longer configured"), "{detail}");
    let status = system.admin.status("m").await;
    assert_eq!(status["instances"][0]["id"], instance["id"]);
    assert!(
        status["last_error"]
            .as_str()
            .unwrap()
            .contains("no longer configured")
    );
    let path = format!("/instances/{}", instance["id"].as_str().unwrap());
    let (status, problem) = system.admin.call(Method::DELETE, &path, None).await;
    assert_eq!(
        (status.as_u16(), &problem["code"]),
        (409, &json!("no_provider"))
    );
    let deleted = system.admin.call(Method::DELETE, "/deployments/m", None);
    assert_eq!(deleted.await.0, 202);
    scene.time.advance(secs(60));
    system.admin.wait_state("m", "deleting").await;
    let (status, problem) = system
        .admin
        .call(Method::POST, "/deployments/m/wake", None)
        .await;
    assert_eq!(status, 409);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("being torn down"), "{detail}");
    let mut setup = system.crash();
    setup.providers = providers;
    let scene = Scene {
        system: setup.start().await,
        time: scene.time,
        cloud: scene.cloud,
    };
    scene
        .until(SECOND, async || scene.status().await.is_null())
        .await;
    assert!(scene.cloud.truth().live.is_empty());
}
