//! Deployments that only this machine can serve take turns on its GPUs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use thermocline_policy::Moment;
use thermocline_support::backend::Script;
use thermocline_support::gpus::FakeGpus;
use thermocline_support::provider::FakeProvider;
use thermocline_support::system::{System, manual_clock};
use tokio::task::JoinHandle;

use crate::local::machine_of;
use crate::scene::{SECOND, Scene, ok, sample, secs};

/// How long a request of A takes.
const WORK: Duration = Duration::from_secs(2);

/// GPU 0 holds A or B, GPU 1 holds C.
async fn machine() -> Scene {
    let time = manual_clock();
    let docker = FakeProvider::new(&time.clock(), |request| match request.deployment.as_str() {
        "a" => Script::from(ok().first_byte_delay(WORK)).on("/", ok()),
        _ => ok().into(),
    });
    let scene = machine_of(time, &docker, FakeGpus::new(&[24, 16])).await;
    for (name, vram) in [("a", "20GiB"), ("b", "20GiB"), ("c", "12GiB")] {
        let spec = json!({
            "name": name, "image": "i:1", "resources": { "vram": vram },
            "tiers": { "local": {} },
        });
        scene.system.admin.deploy(spec).await;
    }
    scene
}

/// Sends `name` one request after the other until `over`; counts what is
/// answered with 200, and fails at anything else.
async fn keep_busy(
    system: &System,
    name: &'static str,
    over: &Arc<AtomicBool>,
    served: &Arc<AtomicU32>,
) -> JoinHandle<()> {
    let mut client = system.client().await;
    let (over, served) = (over.clone(), served.clone());
    tokio::spawn(async move {
        while !over.load(Ordering::Acquire) {
            let request = client.request("GET", &format!("/d/{name}/x"));
            let response = request.send().await.unwrap();
            assert_eq!(response.status, 200, "{}", response.text());
            served.fetch_add(1, Ordering::AcqRel);
        }
    })
}

/// A request that is answered with 200 before any time passes.
async fn at_once(scene: &Scene, name: &str) {
    let before = scene.time.now();
    let mut client = scene.system.client().await;
    let request = client.request("GET", &format!("/d/{name}/x"));
    let response = request.send().await.unwrap();
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(scene.time.now(), before);
}

fn since_start(moment: Moment) -> Duration {
    moment.since(Moment::ORIGIN)
}

#[tokio::test]
async fn b18_who_waits_for_memory_is_served_after_a_bounded_drain() {
    let scene = machine().await;
    at_once(&scene, "c").await;
    let (over, served) = (Arc::default(), Arc::default());
    let mut a = Vec::new();
    for _ in 0..2 {
        a.push(keep_busy(&scene.system, "a", &over, &served).await);
    }
    scene.pass(secs(10)).await;
    assert!(served.load(Ordering::Acquire) >= 4, "A is served");
    let asked = since_start(scene.time.now());
    let mut client = scene.system.client().await;
    let b = tokio::spawn(async move {
        let request = client.request("GET", "/d/b/x");
        let request = request.header("x-thermocline-timeout", "60s");
        request.send().await.unwrap()
    });
    let mut answered = None;
    for _ in 0..60 {
        at_once(&scene, "c").await;
        scene.step(SECOND).await;
        let age = sample(
            &scene.system.admin.metrics().await,
            "thermocline_tick_age_seconds",
        );
        assert!(age < 2.0, "the loops stand still");
        if b.is_finished() && answered.is_none() {
            answered = Some(since_start(scene.time.now()) - asked);
        }
    }
    let b = b.await.unwrap();
    assert_eq!(b.status, 200, "{}", b.text());
    let waited = answered.unwrap();
    assert!(waited >= secs(20) && waited <= secs(30), "{waited:?}");
    let before = served.load(Ordering::Acquire);
    scene
        .until(SECOND, async || served.load(Ordering::Acquire) > before)
        .await;
    over.store(true, Ordering::Release);
    for client in a {
        scene.until(SECOND, async || client.is_finished()).await;
        client.await.unwrap();
    }
}

#[tokio::test]
async fn an_idle_instance_makes_room_without_a_wait() {
    let scene = machine().await;
    let mut client = scene.system.client().await;
    let first = tokio::spawn(async move { client.request("GET", "/d/a/x").send().await.unwrap() });
    scene.until(SECOND, async || first.is_finished()).await;
    scene.pass(secs(30)).await;
    let mut client = scene.system.client().await;
    let b = tokio::spawn(async move { client.request("GET", "/d/b/x").send().await.unwrap() });
    let asked = scene.time.now();
    scene.until(SECOND, async || b.is_finished()).await;
    assert_eq!(b.await.unwrap().status, 200);
    assert!(scene.time.now().since(asked) <= secs(8));
}
