//! Backends that fail, go and are replaced: every count comes back.

use reqwest::Method;
use serde_json::json;
use thermocline_support::backend::{FakeBackend, Latch, Reply, Script};
use thermocline_support::provider::{Call, FakeProvider, Truth};
use thermocline_support::system::{Setup, System};

/// Two pods that take turns, each with the backend that the provider made.
async fn two_pods(script: Script) -> (System, FakeProvider, Vec<FakeBackend>) {
    let clock = thermocline_clock::Clock::system();
    let cloud = FakeProvider::new(&clock, move |_| script.clone());
    let system = Setup::new().provider("toy", cloud.clone()).start().await;
    let spec = json!({
        "name": "m", "image": "i:1",
        "tiers": { "pod": { "provider": "toy", "max_instances": 2, "min_instances": 2 } },
        "concurrency": {
            "strategy": "exclusive", "workers": 2, "load": "per_worker",
            "selection": "least_loaded", "queue": 100,
        },
    });
    system.admin.deploy(spec).await;
    system.admin.wait_status("m", both_ready).await;
    let backends = cloud.backends();
    (system, cloud, backends)
}

fn both_ready(status: &serde_json::Value) -> bool {
    let all = status["instances"].as_array();
    all.is_some_and(|all| all.iter().filter(|i| i["state"] == "ready").count() == 2)
}

async fn status_of(system: &System, path: &str, timeout: &'static str) -> u16 {
    let mut client = system.client().await;
    let request = client
        .request("GET", path)
        .header("x-thermocline-timeout", timeout);
    request.send().await.unwrap().status
}

#[tokio::test]
async fn b30_counters_come_back_to_zero_whatever_happened() {
    let script =
        Script::always(Reply::ok("hi")).on("/slow", Reply::ok("").held_until(&Latch::new()));
    let (system, cloud, backends) = two_pods(script).await;
    for _ in 0..10 {
        assert_eq!(status_of(&system, "/d/m/slow", "20ms").await, 504);
    }
    for _ in 0..5 {
        let mut client = system.client().await;
        client.request("GET", "/d/m/slow").start().await.unwrap();
        let held = |status: &serde_json::Value| status["in_flight"] == 1;
        system.admin.wait_status("m", held).await;
        drop(client);
        rest(&system).await;
    }
    assert_eq!(evenly(&system, &backends).await, 10);
    for backend in &backends {
        backend.kill().await;
    }
    for _ in 0..5 {
        assert_eq!(status_of(&system, "/d/m/refused", "30s").await, 502);
        rest(&system).await;
    }
    replace_all(&system, &cloud).await;
    let new = &cloud.backends()[2..];
    assert_eq!(evenly(&system, new).await, 10);
}

/// A person replaces both pods.
async fn replace_all(system: &System, cloud: &FakeProvider) {
    for instance in cloud.truth().live {
        let path = format!("/instances/{}", instance.key);
        let (status, body) = system.admin.call(Method::DELETE, &path, None).await;
        assert_eq!(status, 202, "{body}");
    }
    let replaced = |truth: &Truth| truth.created == 4 && truth.live.len() == 2;
    cloud.wait_for(replaced).await;
    system.admin.wait_status("m", both_ready).await;
}

/// Ten requests, which the two `backends` share; how many were served.
async fn evenly(system: &System, backends: &[FakeBackend]) -> usize {
    for _ in 0..10 {
        assert_eq!(status_of(system, "/d/m/even", "30s").await, 200);
    }
    rest(system).await;
    let counts = backends.iter().map(|b| b.seen().count("/even"));
    let counts: Vec<usize> = counts.collect();
    assert!(counts.iter().all(|n| (4..=6).contains(n)), "{counts:?}");
    counts.iter().sum()
}

async fn rest(system: &System) {
    let rests = |status: &serde_json::Value| status["in_flight"] == 0 && status["waiting"] == 0;
    system.admin.wait_status("m", rests).await;
}

/// Where the backend is that got the request to `path`.
async fn whose(backends: &[FakeBackend], path: &str) -> String {
    let first = backends[0].wait_for(|seen| seen.count(path) == 1);
    let second = backends[1].wait_for(|seen| seen.count(path) == 1);
    tokio::select! {
        _ = first => backends[0].url(),
        _ = second => backends[1].url(),
    }
}

/// A person replaces a backend under its request, which ends whole.
#[tokio::test]
async fn b30_a_backend_that_is_replaced_leaves_no_count_behind() {
    let latch = Latch::new();
    let late = Reply::ok("late").held_until(&latch);
    let script = Script::always(Reply::ok("hi")).on("/late", late);
    let (system, cloud, backends) = two_pods(script).await;
    let mut client = system.client().await;
    client.request("GET", "/d/m/late").start().await.unwrap();
    let held = |status: &serde_json::Value| status["in_flight"] == 1;
    system.admin.wait_status("m", held).await;
    let busy = whose(&backends, "/late").await;
    let live = cloud.truth().live;
    let instance = live
        .iter()
        .find(|i| i.address.as_ref().is_some_and(|a| a.url == busy));
    let path = format!("/instances/{}", instance.unwrap().key);
    let (status, body) = system
        .admin
        .call(reqwest::Method::DELETE, &path, None)
        .await;
    assert!(status.is_success(), "{body}");
    assert_eq!(body["state"], "draining");
    cloud.wait_for(|truth| truth.created == 3).await;
    assert_eq!(cloud.truth().count(Call::Delete), 0, "its work goes on");
    latch.open();
    assert_eq!(client.read_head().await.unwrap().status, 200);
    assert_eq!(client.read_body().await.unwrap().bytes, "late");
    rest(&system).await;
    let replaced = |truth: &Truth| truth.created == 3 && truth.live.len() == 2;
    cloud.wait_for(replaced).await;
    system.admin.wait_status("m", both_ready).await;
    let all = cloud.backends();
    let now: Vec<FakeBackend> = all.into_iter().filter(|b| b.url() != busy).collect();
    assert_eq!(evenly(&system, &now).await, 10);
}

/// Who does not want to wait for the work in hand asks a second time.
#[tokio::test]
async fn an_instance_that_drains_is_cut_when_it_is_deleted_again() {
    let late = Reply::ok("late").held_until(&Latch::new());
    let script = Script::always(Reply::ok("hi")).on("/late", late);
    let (system, cloud, _) = two_pods(script).await;
    let mut client = system.client().await;
    client.request("GET", "/d/m/late").start().await.unwrap();
    system.admin.wait_status("m", |s| s["in_flight"] == 1).await;
    let (_, list) = system.admin.call(Method::GET, "/instances", None).await;
    for instance in list["items"].as_array().unwrap() {
        let path = format!("/instances/{}", instance["id"].as_str().unwrap());
        for _ in 0..2 {
            let (status, body) = system.admin.call(Method::DELETE, &path, None).await;
            assert_eq!(status, 202, "{body}");
        }
    }
    assert_eq!(client.read_head().await.unwrap().status, 502);
    cloud
        .wait_for(|truth| truth.created == 4 && truth.live.len() == 2)
        .await;
}

#[tokio::test]
async fn a_backend_that_cannot_be_reached_is_passed_over() {
    let (system, _, backends) = two_pods(Script::always(Reply::ok("hi"))).await;
    backends[0].kill().await;
    for _ in 0..6 {
        assert_eq!(status_of(&system, "/d/m/x", "30s").await, 200);
    }
    assert_eq!(backends[1].seen().count("/x"), 6);
}
