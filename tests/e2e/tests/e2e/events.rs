//! The stream of events, and what becomes of it at a shutdown.

use serde_json::{Value, json};
use thermocline_support::backend::{Gate, Reply, Script};
use thermocline_support::client::{Ended, RawClient, WebSocket};
use thermocline_support::system::System;

use crate::scene::{SECOND, Scene, bearer, ok, pod};

/// A listener, its request sent and its head read.
async fn listen(scene: &Scene, last: Option<&str>) -> RawClient {
    listen_at(&scene.system, last).await
}

/// A listener at `system`.
pub(crate) async fn listen_at(system: &System, last: Option<&str>) -> RawClient {
    let address = system.admin.address;
    let mut client = RawClient::connect(address).await.unwrap();
    let mut request = client.request("GET", "/api/v1/events");
    request = request.header("authorization", bearer());
    if let Some(last) = last {
        request = request.header("last-event-id", last.to_owned());
    }
    request.send_head().await.unwrap();
    let head = client.read_head().await.unwrap();
    assert_eq!(head.status, 200);
    assert_eq!(head.headers.get("content-type"), Some("text/event-stream"));
    client
}

/// What comes until `mark` has.
async fn read_until(client: &mut RawClient, mark: &str) -> String {
    let mut text = String::new();
    while !text.contains(mark) {
        let chunk = client
            .read_chunk()
            .await
            .unwrap()
            .expect("the stream goes on");
        text += &String::from_utf8_lossy(&chunk.bytes);
    }
    text
}

/// Everything told so far.
pub(crate) async fn told(scene: &Scene) -> String {
    let mut client = listen(scene, Some("0")).await;
    read_until(&mut client, "event: caught-up").await
}

fn bodies(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let bodies = data.map(|data| serde_json::from_str(data).unwrap());
    bodies
        .filter(|body: &Value| body["kind"].is_string())
        .collect()
}

#[tokio::test]
async fn events_are_told_in_order_with_all_that_the_console_needs() {
    let scene = Scene::new(ok()).await;
    let mut client = listen(&scene, None).await;
    read_until(&mut client, "event: caught-up").await;
    scene.deploy(pod("60s"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    let bodies = bodies(&read_until(&mut client, "\"instance.ready\"").await);
    let kinds: Vec<&str> = bodies.iter().filter_map(|b| b["kind"].as_str()).collect();
    let of_instance: Vec<&&str> = kinds
        .iter()
        .filter(|k| k.starts_with("instance."))
        .collect();
    assert_eq!(
        of_instance,
        [
            &"instance.intended",
            &"instance.starting",
            &"instance.ready"
        ]
    );
    assert!(kinds.contains(&"deployment.created"), "{kinds:?}");
    let ids: Vec<i64> = bodies.iter().filter_map(|b| b["id"].as_i64()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    for body in &bodies {
        assert!(
            body["at"].as_str().unwrap().starts_with("2027-01-15T08:"),
            "{body}"
        );
        assert!(body["text"].is_string(), "{body}");
    }
    assert_eq!(bodies.last().unwrap()["deployment"], "m");
}

#[tokio::test]
async fn a_listener_resumes_where_it_was() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("60s"), json!({})).await;
    let mut client = listen(&scene, Some("0")).await;
    read_until(&mut client, "deployment.created").await;
    drop(client);
    let all = bodies(&told(&scene).await);
    let created = all
        .iter()
        .find(|b| b["kind"] == "deployment.created")
        .unwrap();
    let last = created["id"].to_string();
    // What changes nothing is no update.
    for port in [9000, 9000, 9001] {
        scene.system.admin.patch("m", json!({ "port": port })).await;
    }
    let mut client = listen(&scene, Some(&last)).await;
    let missed = bodies(&read_until(&mut client, "\"generation\":3").await);
    let after = created["id"].as_i64();
    assert!(
        missed.iter().all(|b| b["id"].as_i64() > after),
        "{missed:?}"
    );
    let updates = missed
        .iter()
        .filter(|b| b["kind"] == "deployment.updated")
        .count();
    assert_eq!(updates, 2);
}

/// In process: a SIGTERM is the same token.
#[tokio::test]
async fn b49_what_can_end_ends_at_once_and_the_work_in_hand_ends_whole() {
    let gate = Gate::new();
    let script = Script::from_fn(|_| ok())
        .on("/stream", Reply::new(200).gated(&gate))
        .on("/ws", Reply::websocket_echo());
    let scene = Scene::new(script).await;
    scene.deploy(pod("10m"), json!({})).await;
    let mut events = listen(&scene, None).await;
    read_until(&mut events, "event: caught-up").await;
    let mut idle = scene.system.client().await;
    assert_eq!(
        idle.request("GET", "/d/m/x").send().await.unwrap().status,
        200
    );
    let socket = WebSocket::open(scene.system.client().await, "/d/m/ws", &[])
        .await
        .unwrap();
    let mut stream = scene.system.client().await;
    stream
        .request("GET", "/d/m/stream")
        .send_head()
        .await
        .unwrap();
    gate.write("first");
    assert_eq!(stream.read_head().await.unwrap().status, 200);
    assert_eq!(stream.read_chunk().await.unwrap().unwrap().bytes, "first");

    scene.system.lifecycle.drain.cancel();
    assert_eq!(events.read_body().await.unwrap().ended, Ended::Clean);
    assert_eq!(idle.read_to_end_raw().await.unwrap().0, "");
    gate.write(", last");
    gate.finish();
    let rest = stream.read_body().await.unwrap();
    assert_eq!(
        (rest.bytes.as_ref(), rest.ended),
        (&b", last"[..], Ended::Clean)
    );
    drop(socket);

    let scene = scene.crash(SECOND).await;
    scene.pass(SECOND * 60).await;
    let truth = scene.cloud.truth();
    assert_eq!(
        (truth.created, truth.live.len()),
        (1, 1),
        "nothing was lost or doubled"
    );
    assert_eq!(scene.get().await.status, 200);
}
