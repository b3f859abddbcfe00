//! Case B49: an open console tab, and everything else that could hold a
//! shutdown up.

use std::time::{Duration, Instant};

use serde_json::json;
use thermocline_support::backend::{FakeBackend, Reply, Script};
use thermocline_support::client::{Ended, RawClient, WebSocket};
use thermocline_support::http1::websocket::Opcode;
use thermocline_support::process::{Server, Setup};

/// An answer that goes on for 5 s.
const PIECES: u32 = 10;
const EVERY: Duration = Duration::from_millis(500);

/// A server with one of each open.
struct Open {
    server: Server,
    backend: FakeBackend,
    console: RawClient,
    idle: RawClient,
    socket: WebSocket,
    inference: RawClient,
}

async fn open() -> Open {
    let pieces = (0..PIECES).map(|n| format!("piece {n}\n"));
    let script = Script::always(Reply::ok("hello"))
        .on("/ws", Reply::websocket_echo())
        .on("/stream", Reply::new(200).items(pieces, EVERY).chunked());
    let backend = FakeBackend::start(script).await;
    let server = Setup::new().start().await;
    let spec = json!({ "name": "m", "tiers": { "dedicated": { "url": backend.url() } } });
    server.admin.deploy(spec).await;

    let mut console = RawClient::connect(server.admin.address).await.unwrap();
    let events = console.request("GET", "/api/v1/events");
    let events = events.header("authorization", "Bearer test-token");
    events.start().await.unwrap();
    assert_eq!(console.read_head().await.unwrap().status, 200);

    let mut idle = server.client().await;
    let answer = idle.request("GET", "/d/m/").send().await.unwrap();
    assert_eq!(answer.status, 200);

    let mut socket = WebSocket::open(server.client().await, "/d/m/ws", &[])
        .await
        .unwrap();
    let echo = socket.exchange(Opcode::Text, "hello").await.unwrap();
    assert_eq!(echo.payload, "hello");

    let mut inference = server.client().await;
    inference
        .request("POST", "/d/m/stream")
        .body("x")
        .start()
        .await
        .unwrap();
    assert_eq!(inference.read_head().await.unwrap().status, 200);
    Open {
        server,
        backend,
        console,
        idle,
        socket,
        inference,
    }
}

impl Open {
    fn streams(&self) -> bool {
        let seen = self.backend.seen();
        seen.to("/stream").any(|record| record.is_running())
    }
}

#[tokio::test]
async fn b49_one_signal_ends_what_is_idle_at_once_and_what_works_whole() {
    let mut open = open().await;
    let began = now();
    open.server.terminate();

    let (_, ended) = open.idle.read_to_end_raw().await.unwrap();
    assert_eq!(ended, Ended::Clean);
    open.console.read_body().await.unwrap();
    let close = open.socket.read().await.unwrap().expect("a close frame");
    assert_eq!(close.close_code(), Some(1001));
    assert!(open.streams(), "these did not wait for the stream");

    let body = open.inference.read_body().await.unwrap();
    assert_eq!(body.ended, Ended::Clean);
    let whole: String = (0..PIECES).map(|n| format!("piece {n}\n")).collect();
    assert_eq!(body.bytes, whole);
    assert_eq!(open.server.ended().await.code(), Some(0));
    let took = began.elapsed();
    assert!(took <= Duration::from_secs(7), "{took:?}");
}

#[tokio::test]
async fn b49_a_second_signal_ends_everything_at_once() {
    let mut open = open().await;
    open.server.terminate();
    open.console.read_body().await.unwrap();
    open.server.terminate();
    let status = open.server.ended().await;
    assert_eq!(status.code(), Some(1));
    let cut = open.inference.read_body().await.unwrap();
    assert_eq!(cut.ended, Ended::Aborted, "it did not wait for the stream");
}

#[allow(clippy::disallowed_methods)] // the case has a bound in real time
fn now() -> Instant {
    Instant::now()
}
