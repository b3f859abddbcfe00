//! What an operator sees in flight and cancels: its client is told, its backend
//! is told and not blamed, and every place is given back.

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_support::backend::{Gate, Latch, Reply, Script};
use thermocline_support::client::{RawClient, WebSocket};
use thermocline_support::provider::Boot;
use thermocline_support::system::System;

use crate::dedicated::{Dedicated, exclusive, h2_get};
use crate::scene::{SECOND, Scene, ok, pod, secs};

/// What is in flight, the oldest first.
async fn in_flight(system: &System, query: &str) -> Vec<Value> {
    let path = format!("/requests/in-flight{query}");
    let (status, body) = system.admin.call(Method::GET, &path, None).await;
    assert_eq!(status, 200, "{body}");
    let items = body["items"].as_array().unwrap().clone();
    assert_eq!(body["total"], items.len());
    items
}

/// Cancels a request that was listed; the status.
async fn cancel(system: &System, request: &Value) -> u16 {
    let path = format!("/requests/{}/cancel", request["id"].as_str().unwrap());
    let (status, _) = system.admin.call(Method::POST, &path, None).await;
    status.as_u16()
}

async fn start(m: &Dedicated, target: &str) -> RawClient {
    let mut client = m.client().await;
    client.request("GET", target).start().await.unwrap();
    client
}

/// Its backend was told, nobody is blamed, and the next one is served at once.
async fn only_it_was_cancelled(m: &Dedicated) {
    m.backend
        .wait_for(|seen| seen.requests[0].peer_left())
        .await;
    assert_eq!(m.get("/d/m/next").await.status, 200);
    m.rests().await;
    assert_eq!(m.outcomes("cancelled").await, 1);
    assert_eq!(m.outcomes("ok").await, 1);
    assert!(in_flight(&m.system, "").await.is_empty());
}

fn then_ok(reply: Reply) -> Script {
    Script::always(reply).on("/next", Reply::ok("hi"))
}

#[tokio::test]
async fn a_request_in_flight_is_listed_without_its_query_until_it_ends() {
    let latch = Latch::new();
    let m = Dedicated::with(then_ok(Reply::ok("").held_until(&latch)), exclusive(8)).await;
    let mut runs = m.client().await;
    let request = runs.request("POST", "/d/m/x?key=secret").body("mine");
    let request = request.header("x-request-id", "r-1");
    request.start().await.unwrap();
    m.holds(1, 0).await;
    let _waits = start(&m, "/d/m/y").await;
    m.holds(1, 1).await;
    let all = in_flight(&m.system, "?deployment=m").await;
    let told = |request: &Value| {
        let fields = ["deployment", "method", "path", "tier", "stage"];
        fields.map(|field| request[field].as_str().unwrap().to_owned())
    };
    assert_eq!(told(&all[0]), ["m", "POST", "/d/m/x", "dedicated", "sent"]);
    assert_eq!(
        told(&all[1]),
        ["m", "GET", "/d/m/y", "dedicated", "waiting"]
    );
    assert_eq!(all[0]["request_id"], "r-1");
    assert!(all[0]["age_s"].as_f64() >= all[1]["age_s"].as_f64());
    assert!(in_flight(&m.system, "?deployment=other").await.is_empty());
    latch.open();
    m.rests().await;
    assert!(in_flight(&m.system, "").await.is_empty());
}

#[tokio::test]
async fn one_that_a_backend_has_in_hand_is_answered_503_and_is_not_sent_again() {
    let m = Dedicated::with(
        then_ok(Reply::ok("").held_until(&Latch::new())),
        exclusive(1),
    )
    .await;
    let mut client = start(&m, "/d/m/x").await;
    m.backend.wait_for(|seen| seen.in_flight == 1).await;
    let listed = in_flight(&m.system, "").await;
    assert_eq!(cancel(&m.system, &listed[0]).await, 202);
    let head = client.read_head().await.unwrap();
    assert_eq!(head.status, 503);
    assert_eq!(head.headers.get("x-should-retry"), Some("false"));
    let body = client.read_body().await.unwrap();
    let body: Value = serde_json::from_slice(&body.bytes).unwrap();
    assert_eq!(body["code"], "cancelled");
    only_it_was_cancelled(&m).await;
    assert_eq!(cancel(&m.system, &listed[0]).await, 404, "it has ended");
}

#[tokio::test]
async fn one_that_waits_for_its_turn_leaves_the_queue_and_no_backend_hears_of_it() {
    let latch = Latch::new();
    let m = Dedicated::with(then_ok(Reply::ok("").held_until(&latch)), exclusive(8)).await;
    let _runs = start(&m, "/d/m/x").await;
    m.holds(1, 0).await;
    let mut waits = start(&m, "/d/m/y").await;
    m.holds(1, 1).await;
    let listed = in_flight(&m.system, "").await;
    assert_eq!(cancel(&m.system, &listed[1]).await, 202);
    assert_eq!(waits.read_head().await.unwrap().status, 503);
    m.holds(1, 0).await;
    latch.open();
    m.rests().await;
    assert_eq!(m.backend.seen().count("/y"), 0);
    assert_eq!(m.outcomes("cancelled").await, 1);
    assert_eq!(m.outcomes("ok").await, 1);
}

#[tokio::test]
async fn a_stream_is_broken_off_so_that_nobody_takes_a_part_for_the_whole() {
    let gate = Gate::new();
    let m = Dedicated::with(then_ok(Reply::new(200).gated(&gate)), exclusive(1)).await;
    let mut client = start(&m, "/d/m/x").await;
    client.read_head().await.unwrap();
    gate.write("data: x\n\n");
    client.read_chunk().await.unwrap();
    let listed = in_flight(&m.system, "").await;
    assert_eq!(listed[0]["stage"], "answering");
    assert_eq!(cancel(&m.system, &listed[0]).await, 202);
    assert!(client.read_chunk().await.is_err());
    only_it_was_cancelled(&m).await;
}

#[tokio::test]
async fn of_an_http_2_connection_the_other_streams_go_on() {
    let (gate, other) = (Gate::new(), Gate::new());
    let script = Script::always(Reply::new(200).gated(&gate));
    let m = Dedicated::new(script.on("/other", Reply::new(200).gated(&other))).await;
    let mut client = m.h2().await;
    let mut cut = client.send(h2_get("/d/m/x")).await.unwrap();
    let mut whole = client.send(h2_get("/d/m/other")).await.unwrap();
    gate.write("data: x\n\n");
    cut.read_chunk().await.unwrap();
    let listed = in_flight(&m.system, "").await;
    assert_eq!(cancel(&m.system, &listed[0]).await, 202);
    assert!(cut.read_chunk().await.is_err());
    other.write("more");
    let chunk = whole.read_chunk().await.unwrap().unwrap();
    assert_eq!(chunk.bytes, "more");
    other.finish();
    m.rests().await;
    assert_eq!(m.outcomes("cancelled").await, 1);
}

#[tokio::test]
async fn a_start_goes_on_without_the_request_that_was_cancelled() {
    let scene = Scene::new(ok()).await;
    scene.cloud.set_boot(Boot::After(secs(5)));
    scene.deploy(pod("60s"), json!({})).await;
    let sent = scene.send("60s").await;
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    let listed = in_flight(&scene.system, "").await;
    assert_eq!(listed[0]["stage"], "waiting");
    assert_eq!(cancel(&scene.system, &listed[0]).await, 202);
    assert_eq!(sent.await.unwrap().status, 503);
    scene.until_state("running").await;
    assert_eq!(scene.cloud.backends()[0].seen().count("/x"), 0);
    scene.step(SECOND).await;
    assert_eq!(scene.get().await.status, 200);
}

#[tokio::test]
async fn a_websocket_is_closed_on_both_sides() {
    let script = then_ok(Reply::ok("hi")).on("/ws", Reply::websocket_echo());
    let m = Dedicated::new(script).await;
    let spelled = [("connection", "Upgrade"), ("upgrade", "websocket")];
    let mut socket = WebSocket::open(m.client().await, "/d/m/ws", &spelled)
        .await
        .unwrap();
    let listed = in_flight(&m.system, "").await;
    assert_eq!(cancel(&m.system, &listed[0]).await, 202);
    assert!(!matches!(socket.read().await, Ok(Some(_))));
    m.rests().await;
    assert_eq!(m.outcomes("cancelled").await, 1);
}
