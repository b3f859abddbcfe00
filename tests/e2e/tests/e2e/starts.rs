//! Cold starts: one for everybody, and nobody's in particular.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use thermocline_support::backend::{Latch, Reply};
use thermocline_support::client::RawClient;
use thermocline_support::provider::{Boot, Call, FakeProvider};
use thermocline_support::system::{Setup, System};
use tokio::task::JoinHandle;

use crate::scene::{SECOND, Scene, ok, pod, secs};

async fn system(cloud: &FakeProvider, max_pending: u32) -> System {
    let system = Setup::new().provider("toy", cloud.clone()).start().await;
    let spec = json!({
        "name": "m", "image": "i:1", "tiers": pod("10m"),
        "cold_start": { "max_pending": max_pending },
        "concurrency": { "max_concurrency": 10_000, "queue": 10_000 },
    });
    system.admin.deploy(spec).await;
    system
}

/// `count` requests at once, each with a body of its own that must come back.
async fn crowd(system: &System, count: usize) -> Vec<tokio::task::JoinHandle<bool>> {
    let mut crowd = Vec::new();
    for i in 0..count {
        let mut client = system.client().await;
        crowd.push(tokio::spawn(async move {
            let body = format!("request {i}");
            let request = client.request("POST", "/d/m/x").body(body.clone());
            let response = request.send().await.unwrap();
            response.status == 200 && response.body == body
        }));
    }
    crowd
}

async fn all_answered(crowd: Vec<tokio::task::JoinHandle<bool>>) -> usize {
    let mut answered = 0;
    for request in crowd {
        answered += usize::from(request.await.unwrap());
    }
    answered
}

/// A hundred rounds, each on a deployment of its own and over connections that
/// every round uses again.
#[tokio::test]
async fn b03_many_first_requests_make_one_start() {
    let scene = Scene::new(Reply::echo()).await;
    scene.cloud.set_boot(Boot::After(secs(5)));
    let mut idle = Vec::new();
    for _ in 0..102 {
        idle.push(scene.system.client().await);
    }
    for round in 0..100 {
        let name = format!("m{round}");
        let spec = json!({ "name": name, "image": "i:1", "tiers": pod("1h") });
        scene.system.admin.deploy(spec).await;
        let mut sent = Vec::new();
        send_on(&mut idle, 50, &name, &mut sent);
        let created = scene.cloud.wait_for(|truth| truth.created == round + 1);
        created.await;
        scene.step(SECOND).await;
        send_on(&mut idle, 50, &name, &mut sent);
        scene.step(secs(4) - FIVE_MILLIS).await;
        send_on(&mut idle, 1, &name, &mut sent);
        scene.step(2 * FIVE_MILLIS).await;
        send_on(&mut idle, 1, &name, &mut sent);
        scene
            .until(SECOND / 4, async || {
                sent.iter().all(JoinHandle::is_finished)
            })
            .await;
        for answer in sent {
            idle.push(answer.await.unwrap());
        }
        let status = scene.system.admin.status(&name).await;
        assert_eq!(status["instances"].as_array().unwrap().len(), 1, "{status}");
        assert_eq!(scene.cloud.truth().created, round + 1);
        let path = format!("/deployments/{name}");
        assert_eq!(scene.admin(Method::DELETE, &path).await.0, 202);
    }
    assert_eq!(scene.cloud.truth().created, 100);
}

const FIVE_MILLIS: Duration = Duration::from_millis(5);

/// Sends `count` requests to `name`, each with a body of its own that must come
/// back; the tasks end with their connections.
fn send_on(
    idle: &mut Vec<RawClient>,
    count: usize,
    name: &str,
    sent: &mut Vec<JoinHandle<RawClient>>,
) {
    for mut client in idle.split_off(idle.len() - count) {
        let body = format!("{name}: request {}", sent.len());
        let target = format!("/d/{name}/x");
        sent.push(tokio::spawn(async move {
            let request = client.request("POST", &target).body(body.clone());
            let response = request.send().await.unwrap();
            assert_eq!((response.status, response.text()), (200, body));
            client
        }));
    }
}

#[tokio::test]
async fn b03_a_thousand_first_requests_make_one_start() {
    let clock = thermocline_clock::Clock::system();
    let cloud = FakeProvider::new(&clock, |_| Reply::echo().into());
    let ready = Latch::new();
    cloud.set_boot(Boot::WhenOpen(ready.clone()));
    let system = system(&cloud, 1000).await;
    let all = crowd(&system, 1000).await;
    system
        .admin
        .wait_status("m", |s| s["waiting"] == 1000)
        .await;
    ready.open();
    assert_eq!(all_answered(all).await, 1000);
    let truth = cloud.truth();
    assert_eq!((truth.count(Call::Create), truth.most_live), (1, 1));
}

#[tokio::test]
async fn b04_the_first_caller_leaves_and_the_start_goes_on() {
    let scene = Scene::new(ok()).await;
    scene.cloud.set_boot(Boot::After(secs(5)));
    scene.deploy(pod("10m"), json!({})).await;
    let first = scene.send("30s").await;
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    scene.step(SECOND).await;
    first.abort();
    scene.step(SECOND).await;
    let second = scene.send("30s").await;
    scene.pass(secs(3)).await;
    let response = scene.answered(SECOND / 50, second).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(scene.elapsed().as_secs_f64() < 7.0, "{:?}", scene.elapsed());
    assert_eq!(scene.cloud.truth().created, 1);
}

#[tokio::test]
async fn b04_every_early_caller_leaves_and_the_start_goes_on() {
    let scene = Scene::new(ok()).await;
    scene.cloud.set_boot(Boot::After(secs(5)));
    scene.deploy(pod("10m"), json!({})).await;
    let mut early = Vec::new();
    for second in 0..10usize {
        early.push(scene.send("30s").await);
        scene.cloud.wait_for(|truth| truth.created == 1).await;
        if let Some(tired) = second.checked_sub(2) {
            early[tired].abort();
        }
        scene.step(SECOND).await;
    }
    scene.until_state("running").await;
    assert_eq!(scene.get().await.status, 200);
    assert_eq!(scene.cloud.truth().created, 1);
}
