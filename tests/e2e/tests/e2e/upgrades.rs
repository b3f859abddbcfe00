//! WebSockets and other protocols that a connection is switched to.

use serde_json::json;
use thermocline_support::backend::{FakeBackend, Reply, Script};
use thermocline_support::client::{ClientError, RawClient, WebSocket};
use thermocline_support::http1::websocket::{Frame, Opcode};
use thermocline_support::provider::Boot;
use thermocline_support::system::manual_clock;

use crate::dedicated::Dedicated;
use crate::scene::{SECOND, Scene, pod, secs};

/// What a browser may send.
const SPELLED: [(&str, &str); 2] = [
    ("connection", "keep-alive, Upgrade"),
    ("upgrade", "WebSocket"),
];

fn socket_at_ws() -> Script {
    Script::always(Reply::ok("hi")).on("/ws", Reply::websocket_echo())
}

async fn open(client: RawClient) -> WebSocket {
    WebSocket::open(client, "/d/m/ws", &SPELLED).await.unwrap()
}

/// Text, 1 MiB of bytes and a ping come back as they were.
async fn works(socket: &mut WebSocket) {
    let text = socket.exchange(Opcode::Text, "grüße").await.unwrap();
    assert_eq!(
        (text.opcode, &text.payload[..]),
        (Opcode::Text, "grüße".as_bytes())
    );
    let bytes: Vec<u8> = (0..1 << 20).map(|i| (i % 251) as u8).collect();
    let (sender, _) = socket.halves();
    let frame = Frame::new(Opcode::Binary, bytes.clone()).encode(Some([1, 2, 3, 4]));
    sender.send_raw(frame).await.unwrap();
    assert_eq!(socket.read().await.unwrap().unwrap().payload, bytes);
    let pong = socket.exchange(Opcode::Ping, "?").await.unwrap();
    assert_eq!((pong.opcode, &pong.payload[..]), (Opcode::Pong, &b"?"[..]));
}

#[tokio::test]
async fn b11_a_handshake_is_seen_in_any_spelling() {
    let m = Dedicated::new(socket_at_ws()).await;
    works(&mut open(m.client().await).await).await;
    m.rests().await;
}

#[tokio::test]
async fn b11_a_cold_handshake_waits_for_its_backend() {
    let scene = Scene::new(socket_at_ws()).await;
    scene.cloud.set_boot(Boot::After(secs(3)));
    scene.deploy(pod("10m"), json!({})).await;
    let client = scene.system.client().await;
    let opening = tokio::spawn(open(client));
    scene
        .until(SECOND / 10, async || opening.is_finished())
        .await;
    assert!(scene.elapsed() >= secs(3));
    assert_eq!(scene.cloud.truth().created, 1);
    works(&mut opening.await.unwrap()).await;
}

#[tokio::test]
async fn b11_a_plain_request_carries_no_upgrade() {
    let m = Dedicated::new(socket_at_ws()).await;
    let mut client = m.client().await;
    let request = client
        .request("GET", "/d/m/x")
        .header("connection", "close, X-Secret-Hop");
    let request = request
        .header("X-Secret-Hop", "1")
        .header("upgrade", "websocket");
    assert_eq!(request.send().await.unwrap().status, 200);
    let seen = m.backend.seen();
    for gone in ["x-secret-hop", "upgrade", "connection"] {
        assert!(seen.requests[0].header(gone).is_none(), "{gone}");
    }
}

#[tokio::test]
async fn b14_the_first_byte_timer_ends_with_the_handshake() {
    let time = manual_clock();
    let limits = json!({ "limits": { "first_byte": "5s", "idle": "60s" } });
    let m = Dedicated::on(&time, socket_at_ws(), limits).await;
    let mut socket = open(m.client().await).await;
    for _ in 0..8 {
        time.advance(secs(4));
        socket.exchange(Opcode::Text, "still here").await.unwrap();
    }
}

/// Neither the time for a head nor that of an idle connection is meant for it.
#[tokio::test]
async fn a_silent_websocket_lives_as_long_as_its_deployment_allows() {
    let time = manual_clock();
    let m = Dedicated::on(
        &time,
        socket_at_ws(),
        json!({ "limits": { "idle": "10m" } }),
    )
    .await;
    let mut socket = open(m.client().await).await;
    socket.exchange(Opcode::Text, "hi").await.unwrap();
    for _ in 0..9 {
        time.advance(secs(60));
        m.system.admin.metrics().await;
    }
    socket.exchange(Opcode::Text, "hi").await.unwrap();
    m.holds(1, 0).await;
    time.advance(secs(601));
    assert!(
        socket.read().await.ok().flatten().is_none(),
        "nothing moved for 10 minutes"
    );
    m.rests().await;
    m.backend.wait_for(|seen| seen.open_connections == 0).await;
}

#[tokio::test]
async fn a_refused_handshake_is_an_ordinary_answer() {
    let m = Dedicated::new(Reply::new(403).body("no")).await;
    let refused = WebSocket::open(m.client().await, "/d/m/ws", &[]).await;
    let Err(ClientError::Refused(head)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(
        (head.status, head.headers.get("x-thermocline-deployment")),
        (403, Some("m"))
    );
    m.rests().await;
}

#[tokio::test]
async fn a_switch_that_nobody_asked_for_is_the_backends_fault() {
    let raw = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
    let m = Dedicated::new(Reply::raw(raw)).await;
    assert_eq!(m.get("/d/m/x").await.status, 502);
    m.rests().await;
}

#[tokio::test]
async fn either_side_may_end_a_websocket() {
    let m = Dedicated::new(socket_at_ws()).await;
    let socket = open(m.client().await).await;
    m.holds(1, 0).await;
    drop(socket);
    m.rests().await;
    m.backend.wait_for(|seen| seen.open_connections == 0).await;
    let mut socket = open(m.client().await).await;
    m.backend.sever();
    assert!(socket.read().await.ok().flatten().is_none());
    m.rests().await;
}

#[tokio::test]
async fn draining_says_goodbye_to_websockets() {
    let m = Dedicated::new(socket_at_ws()).await;
    let mut socket = open(m.client().await).await;
    socket.exchange(Opcode::Text, "hi").await.unwrap();
    m.system.lifecycle.drain.cancel();
    assert_eq!(
        socket.read().await.unwrap().unwrap().close_code(),
        Some(1001)
    );
    assert!(socket.read().await.unwrap().is_none());
}

/// What comes right behind the 101, in the same packet, is not lost.
#[tokio::test]
async fn another_protocol_passes_from_its_first_byte() {
    let raw = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: toy\r\n\r\nfirst words";
    let backend: FakeBackend = FakeBackend::start(Reply::raw(raw)).await;
    let m = Dedicated::with(
        Reply::ok(""),
        json!({ "tiers": { "dedicated": { "url": backend.url() } } }),
    )
    .await;
    let mut client = m.client().await;
    let request = client
        .request("GET", "/d/m/x")
        .header("connection", "upgrade");
    request.header("upgrade", "toy").start().await.unwrap();
    let head = client.read_head().await.unwrap();
    assert_eq!(
        (head.status, head.headers.get("upgrade")),
        (101, Some("toy"))
    );
    assert_eq!(
        &client.read_to_end_raw().await.unwrap().0[..],
        b"first words"
    );
}
