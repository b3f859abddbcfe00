//! The local tier: what fits on this machine, and what happens when it does not.

use std::sync::Arc;

use serde_json::{Value, json};
use thermocline_clock::ManualClock;
use thermocline_provider::{ConfiguredGpus, GpuProbe, ProviderErrorKind};
use thermocline_support::backend::Latch;
use thermocline_support::gpus::GIB;
use thermocline_support::provider::{Call, FakeProvider, Fault};
use thermocline_support::system::{Setup, manual_clock};

use crate::scene::{SECOND, Scene, ok};

/// A system with 24 GiB of GPU memory, and its Docker daemon.
async fn machine() -> (Scene, FakeProvider) {
    let time = manual_clock();
    let docker = FakeProvider::new(&time.clock(), |_| ok().into());
    let scene = machine_of(time, &docker, ConfiguredGpus::new(vec![24 * GIB])).await;
    (scene, docker)
}

/// A system with these GPUs and this Docker daemon.
pub(crate) async fn machine_of(
    time: ManualClock,
    docker: &FakeProvider,
    gpus: impl GpuProbe + 'static,
) -> Scene {
    let cloud = FakeProvider::new(&time.clock(), |_| ok().into());
    let setup = Setup::new().on(&time);
    let mut setup = setup.provider("toy", cloud.clone());
    setup = setup.provider("docker", docker.clone());
    setup.gpus = Arc::new(gpus);
    let system = setup.start().await;
    let scene = Scene {
        time,
        cloud,
        system,
    };
    docker.wait_for(|truth| truth.count(Call::List) > 0).await;
    scene.step(SECOND).await;
    scene
}

pub(crate) async fn deploy(scene: &Scene, name: &str, vram: &str) {
    let spec = json!({
        "name": name, "image": "i:1", "resources": { "vram": vram },
        "tiers": { "local": { "idle_timeout": "5m" }, "serverless": { "provider": "toy" } },
    });
    scene.system.admin.deploy(spec).await;
}

pub(crate) async fn served_by(scene: &Scene, name: &str) -> String {
    let mut client = scene.system.client().await;
    let request = client.request("GET", &format!("/d/{name}/x"));
    let response = request.send().await.unwrap();
    assert_eq!(response.status, 200, "{}", response.text());
    response.header("x-thermocline-tier").unwrap().to_owned()
}

#[tokio::test]
async fn what_fits_is_served_here_and_the_rest_by_the_cloud() {
    let (scene, docker) = machine().await;
    deploy(&scene, "a", "11GiB").await;
    deploy(&scene, "b", "11GiB").await;
    deploy(&scene, "c", "11GiB").await;
    assert_eq!(served_by(&scene, "a").await, "local");
    assert_eq!(served_by(&scene, "b").await, "local");
    scene.step(SECOND).await;
    assert_eq!(served_by(&scene, "c").await, "serverless");
    assert_eq!(docker.truth().created, 2);
}

/// Both begin at once, and only one fits: the other is not refused.
#[tokio::test]
async fn who_loses_the_race_for_the_memory_falls_through() {
    let (scene, docker) = machine().await;
    deploy(&scene, "a", "20GiB").await;
    deploy(&scene, "b", "20GiB").await;
    let (a, b) = tokio::join!(served_by(&scene, "a"), served_by(&scene, "b"));
    let mut tiers = [a, b];
    tiers.sort();
    assert_eq!(tiers, ["local", "serverless"]);
    assert_eq!(docker.truth().created, 1);
}

#[tokio::test]
async fn a_local_start_that_fails_falls_through_to_the_cloud() {
    let (scene, docker) = machine().await;
    docker.fail_next(Call::Create, 1, Fault::Refused(ProviderErrorKind::Invalid));
    deploy(&scene, "a", "11GiB").await;
    assert_eq!(served_by(&scene, "a").await, "serverless");
}

#[tokio::test]
async fn without_a_daemon_local_says_why_and_others_go_on() {
    let (scene, docker) = machine().await;
    let back = Latch::new();
    let away = Fault::Refused(ProviderErrorKind::Unavailable);
    docker.fail_until(Call::List, &back, away);
    deploy(&scene, "a", "11GiB").await;
    let reason = async || {
        let (_, decision) = scene
            .admin(reqwest::Method::GET, "/deployments/a/decision")
            .await;
        decision["alternatives"][0].clone()
    };
    let says = json!({ "tier": "local", "reason": "no_daemon" });
    scene.until(SECOND, async || reason().await == says).await;
    assert_eq!(served_by(&scene, "a").await, "serverless");
    let (_, providers) = scene.admin(reqwest::Method::GET, "/providers").await;
    assert_eq!(health(&providers, "docker"), "unavailable");
    assert_eq!(health(&providers, "toy"), "ok");
    back.open();
    scene
        .until(SECOND, async || served_by(&scene, "a").await == "local")
        .await;
}

fn health(providers: &Value, name: &str) -> String {
    let items = providers["items"].as_array().unwrap();
    let provider = items.iter().find(|p| p["name"] == name).unwrap();
    provider["health"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_pool_per_worker_has_an_instance_for_each() {
    let (scene, docker) = machine().await;
    let spec = json!({
        "name": "a", "image": "i:1", "resources": { "vram": "8GiB" },
        "tiers": { "local": { "max_instances": 3 } },
        "concurrency": {
            "strategy": "exclusive", "load": "per_worker", "workers": 3,
            "selection": "least_loaded",
        },
    });
    scene.system.admin.deploy(spec).await;
    assert_eq!(served_by(&scene, "a").await, "local");
    docker.wait_for(|truth| truth.live.len() == 3).await;
    let ready = async || {
        let status = scene.system.admin.status("a").await;
        let all = status["instances"].as_array().unwrap().clone();
        all.len() == 3 && all.iter().all(|i| i["state"] == "ready")
    };
    scene.until(SECOND / 10, ready).await;
    for _ in 0..9 {
        assert_eq!(served_by(&scene, "a").await, "local");
    }
    let used = docker.backends();
    assert!(
        used.iter().all(|b| b.seen().count("/x") >= 3),
        "all of them work"
    );
}
