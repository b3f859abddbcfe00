//! Clients that leave: the backend is told, and every place is given back.

use reqwest::Method;
use serde_json::json;
use thermocline_support::backend::{FakeBackend, Gate, Latch, Reading, Reply, Script};
use thermocline_support::client::RawClient;
use thermocline_support::provider::{Boot, Call, FakeProvider, Truth};
use thermocline_support::system::{Setup, System};

use crate::dedicated::{Dedicated, exclusive};
use crate::scene::{SECOND, Scene, ok, pod, secs};

/// The next request is served at once, and nothing is left behind.
async fn next_is_served(m: &Dedicated) {
    m.backend
        .wait_for(|seen| seen.requests[0].peer_left())
        .await;
    assert_eq!(m.get("/d/m/next").await.status, 200);
    m.rests().await;
    assert_eq!(m.outcomes("client_left").await, 1);
    assert_eq!(m.outcomes("ok").await, 1);
}

fn then_ok(reply: Reply) -> Script {
    Script::always(reply).on("/next", Reply::ok("hi"))
}

#[tokio::test]
async fn b15a_a_client_that_leaves_before_any_head() {
    let m = Dedicated::with(
        then_ok(Reply::ok("").held_until(&Latch::new())),
        exclusive(1),
    )
    .await;
    let mut client = m.client().await;
    client.request("GET", "/d/m/x").start().await.unwrap();
    m.backend.wait_for(|seen| seen.in_flight == 1).await;
    drop(client);
    next_is_served(&m).await;
}

#[tokio::test]
async fn b15b_a_client_that_leaves_in_the_middle_of_a_stream() {
    let gate = Gate::new();
    let m = Dedicated::with(then_ok(Reply::new(200).gated(&gate)), exclusive(1)).await;
    let mut client = m.client().await;
    client.request("GET", "/d/m/x").start().await.unwrap();
    client.read_head().await.unwrap();
    for _ in 0..3 {
        gate.write("data: x\n\n");
        client.read_chunk().await.unwrap();
    }
    drop(client);
    next_is_served(&m).await;
}

#[tokio::test]
async fn b15c_a_client_that_leaves_after_a_plain_post() {
    let m = Dedicated::with(
        then_ok(Reply::ok("").held_until(&Latch::new())),
        exclusive(1),
    )
    .await;
    let mut client = m.client().await;
    client
        .request("POST", "/d/m/x")
        .body("plain")
        .start()
        .await
        .unwrap();
    m.backend
        .wait_for(|seen| {
            seen.requests
                .first()
                .is_some_and(|r| r.body_sha256.is_some())
        })
        .await;
    drop(client);
    next_is_served(&m).await;
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_of_its_upload() {
    let m = Dedicated::with(then_ok(Reply::ok("")), exclusive(1)).await;
    let mut client = m.client().await;
    let request = client
        .request("POST", "/d/m/x")
        .header("content-length", "1000");
    request.send_head().await.unwrap();
    client.send_raw([b'x'; 400]).await.unwrap();
    m.backend
        .wait_for(|seen| seen.requests.first().is_some_and(|r| r.body_bytes == 400))
        .await;
    drop(client);
    next_is_served(&m).await;
    let seen = m.backend.seen();
    assert!(
        seen.requests[0].body_sha256.is_none(),
        "a part is not taken for the whole"
    );
}

#[tokio::test]
async fn b15d_a_start_is_finished_and_nobodys_request_is_sent() {
    let scene = Scene::new(ok()).await;
    scene.cloud.set_boot(Boot::After(secs(5)));
    scene.deploy(pod("60s"), json!({})).await;
    let mut client = scene.system.client().await;
    client
        .request("POST", "/d/m/x")
        .body("mine")
        .start()
        .await
        .unwrap();
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    scene.step(SECOND).await;
    drop(client);
    let nobody = |status: &serde_json::Value| status["waiting"] == 0;
    scene.system.admin.wait_status("m", nobody).await;
    scene.until_state("running").await;
    assert_eq!(scene.cloud.truth().created, 1);
    assert_eq!(scene.cloud.backends()[0].seen().count("/x"), 0);
    // Choice 3: the idle clock runs from "ready".
    scene.pass(secs(50)).await;
    assert_eq!(scene.cloud.truth().live.len(), 1);
    scene.until_live(0).await;
    let age = scene.elapsed();
    assert!(age >= secs(64) && age <= secs(75), "stopped after {age:?}");
}

/// Leaves at one of many moments: `turns` times other work goes on before.
async fn hasty(system: &System, turns: u64) {
    let mut client = system.client().await;
    client.request("GET", "/d/m/x").start().await.unwrap();
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn b16_cancels_that_race_with_the_start_leak_nothing() {
    let m = Dedicated::with(Reply::ok("hi"), exclusive(1000)).await;
    for round in 0..50 {
        let all = (0..20).map(|i| hasty(&m.system, (round * 20 + i) * 7919 % 40));
        futures_util::future::join_all(all).await;
    }
    assert_eq!(m.get("/d/m/x").await.status, 200);
    m.rests().await;
    assert_eq!(m.backend.seen().most_in_flight, 1);
}

/// Whatever a client is waiting for when it leaves, its place comes back.
#[tokio::test]
async fn a_client_may_leave_in_every_phase() {
    let latch = Latch::new();
    let m = Dedicated::with(then_ok(Reply::ok("").held_until(&latch)), exclusive(8)).await;
    let mut runs = m.client().await;
    runs.request("GET", "/d/m/x").start().await.unwrap();
    m.holds(1, 0).await;
    let mut waits: Vec<RawClient> = Vec::new();
    for _ in 0..4 {
        waits.push(m.client().await);
    }
    waits[0].request("GET", "/d/m/x").start().await.unwrap();
    waits[1]
        .request("POST", "/d/m/x")
        .body("small")
        .start()
        .await
        .unwrap();
    let request = waits[2]
        .request("POST", "/d/m/x")
        .header("content-length", "9");
    request.send_head().await.unwrap();
    let large = waits[3].request("POST", "/d/m/x").pattern(500_000, true);
    large.start().await.unwrap();
    m.holds(1, 4).await;
    for (left, client) in waits.into_iter().enumerate() {
        drop(client);
        m.holds(1, 3 - left as u64).await;
    }
    drop(runs);
    m.rests().await;
    assert_eq!(m.backend.seen().requests.len(), 1);
    assert_eq!(m.outcomes("client_left").await, 5);
}

/// Nothing is read from who waits to be told to go on, so that it left is
/// noticed when its turn comes, and costs the next one nothing.
#[tokio::test]
async fn who_expects_the_go_ahead_may_leave_before_it_comes() {
    let latch = Latch::new();
    let m = Dedicated::with(then_ok(Reply::ok("").held_until(&latch)), exclusive(8)).await;
    let mut runs = m.client().await;
    runs.request("GET", "/d/m/x").start().await.unwrap();
    m.holds(1, 0).await;
    let mut waits = m.client().await;
    let request = waits
        .request("POST", "/d/m/y")
        .header("content-length", "9");
    let request = request.header("expect", "100-continue");
    request.send_head().await.unwrap();
    m.holds(1, 1).await;
    drop(waits);
    drop(runs);
    m.rests().await;
    assert_eq!(m.get("/d/m/next").await.status, 200);
    assert_eq!(m.outcomes("client_left").await, 2);
    let seen = m.backend.seen();
    assert!(seen.to("/y").all(|r| r.body_sha256.is_none()));
}

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
    let (system, _, backends) = two_pods(script).await;
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

/// The pooled connection is closed the moment it is used again.
#[tokio::test]
async fn a_stale_connection_costs_a_get_nothing_and_no_post_is_sent_twice() {
    use thermocline_support::backend::Afterwards;
    let m = Dedicated::new(Reply::ok("hi").afterwards(Afterwards::CloseOnNextRequest)).await;
    let mut client = m.client().await;
    for _ in 0..4 {
        let response = client.request("GET", "/d/m/x").send().await.unwrap();
        assert_eq!(response.status, 200);
    }
    let served = m.backend.seen().requests.len();
    assert_eq!(served, 4);
    let response = client
        .request("POST", "/d/m/post")
        .body("once")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status, 502, "it may have been taken");
    assert_eq!(m.backend.seen().count("/post"), 0);
    let response = client
        .request("POST", "/d/m/post")
        .body("once")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status, 200);
    assert_eq!(m.backend.seen().count("/post"), 1);
}

#[tokio::test]
async fn a_slow_backend_feels_that_the_uploader_left() {
    let latch = Latch::new();
    let m = Dedicated::with(
        Reply::ok("").reading(Reading::After(latch.clone())),
        exclusive(1),
    )
    .await;
    let mut client = m.client().await;
    let upload = tokio::spawn(async move {
        let _ = client
            .request("POST", "/d/m/x")
            .pattern(64 << 20, false)
            .send()
            .await;
    });
    m.holds(1, 0).await;
    upload.abort();
    let _ = upload.await;
    latch.open();
    m.backend
        .wait_for(|seen| seen.requests[0].peer_left())
        .await;
    m.rests().await;
}
