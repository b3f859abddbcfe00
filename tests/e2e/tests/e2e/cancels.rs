//! Clients that leave: the backend is told, and every place is given back.

use serde_json::json;
use thermocline_support::backend::{Gate, Latch, Reading, Reply, Script};
use thermocline_support::client::RawClient;
use thermocline_support::provider::Boot;
use thermocline_support::system::System;

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
