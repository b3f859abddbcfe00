//! How long a client may take, and how its connection ends.

#![allow(clippy::unwrap_used)] // the lint knows test functions, not what they call

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use thermocline_clock::ManualClock;
use thermocline_edge::{Lifecycle, Timeouts, listen, serve_connection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

const LARGE: usize = 64 << 20;

/// One connection to an edge whose time stands still.
struct Edge {
    client: TcpStream,
    time: ManualClock,
    lifecycle: Lifecycle,
    served: JoinHandle<()>,
    /// Hears of each request when it has been answered.
    answered: mpsc::UnboundedReceiver<()>,
}

/// `/large` is a body that no socket holds; the others are read and greeted,
/// but for `/unread`, which is answered as it is.
async fn answer(request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    match parts.uri.path() {
        "/large" => return Response::new(Full::from(vec![0; LARGE])),
        "/unread" => {}
        _ => drop(body.collect().await),
    }
    Response::new(Full::from("hello"))
}

impl Edge {
    async fn new() -> Edge {
        let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        listener.set_nonblocking(false).unwrap();
        let (stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let lifecycle = Lifecycle::default();
        let (tell, answered) = mpsc::unbounded_channel();
        let service = service_fn(move |request| {
            let tell = tell.clone();
            async move {
                let response = answer(request).await;
                let _ = tell.send(());
                Ok::<_, Infallible>(response)
            }
        });
        let within = lifecycle.clone();
        let clock = time.clock();
        let served = tokio::spawn(async move {
            serve_connection(stream, service, Timeouts::default(), within, clock).await;
        });
        Edge {
            client,
            time,
            lifecycle,
            served,
            answered,
        }
    }

    async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.client.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Reads up to the end of a greeting.
    async fn greeted(&mut self) {
        let mut got = Vec::new();
        while !got.ends_with(b"hello") {
            assert_ne!(self.client.read_buf(&mut got).await.unwrap(), 0, "{got:?}");
        }
        self.answered.recv().await.unwrap();
    }

    /// Lets the connection do all that it can do now.
    async fn settle(&self) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    async fn passes(&self, seconds: u64) {
        self.settle().await;
        self.time.advance(Duration::from_secs(seconds));
        self.settle().await;
    }

    fn is_open(&self) -> bool {
        !self.served.is_finished()
    }

    async fn closes(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = self.client.read_to_end(&mut rest).await;
        rest
    }
}

const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

#[tokio::test]
async fn a_fresh_connection_has_ten_seconds_to_say_something() {
    let mut edge = Edge::new().await;
    edge.passes(9).await;
    assert!(edge.is_open());
    edge.passes(1).await;
    assert!(edge.closes().await.is_empty());
}

#[tokio::test]
async fn a_head_has_ten_seconds_from_its_first_byte_however_it_dribbles() {
    let mut edge = Edge::new().await;
    edge.send("GET / HT").await;
    for byte in "TP/1.1\r\nh".as_bytes() {
        edge.passes(1).await;
        assert!(edge.is_open());
        edge.send([*byte]).await;
    }
    edge.passes(1).await;
    assert!(edge.closes().await.is_empty());
}

#[tokio::test]
async fn between_two_requests_the_longer_patience_holds() {
    let mut edge = Edge::new().await;
    for _ in 0..3 {
        edge.send(GET).await;
        edge.greeted().await;
        edge.passes(74).await;
        assert!(edge.is_open());
    }
    edge.passes(1).await;
    assert!(edge.closes().await.is_empty());
}

#[tokio::test]
async fn the_next_head_counts_from_its_own_first_byte() {
    let mut edge = Edge::new().await;
    edge.send(GET).await;
    edge.greeted().await;
    edge.passes(70).await;
    edge.send("GET /").await;
    edge.passes(9).await;
    assert!(edge.is_open());
    edge.passes(1).await;
    assert!(edge.closes().await.is_empty());
}

#[tokio::test]
async fn a_slow_body_is_no_slow_head() {
    let mut edge = Edge::new().await;
    edge.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n")
        .await;
    for byte in b"abc" {
        edge.passes(300).await;
        edge.send([*byte]).await;
    }
    edge.greeted().await;
    assert!(edge.is_open());
}

#[tokio::test]
async fn a_client_that_stops_reading_is_let_go() {
    let mut edge = Edge::new().await;
    edge.send("GET /large HTTP/1.1\r\nhost: a\r\n\r\n").await;
    edge.answered.recv().await.unwrap();
    edge.passes(74).await;
    assert!(edge.is_open());
    edge.passes(1).await;
    assert!(edge.closes().await.len() < LARGE);
}

#[tokio::test]
async fn draining_closes_an_idle_connection_at_once() {
    let mut edge = Edge::new().await;
    edge.send(GET).await;
    edge.greeted().await;
    edge.settle().await;
    edge.lifecycle.drain.cancel();
    (&mut edge.served).await.unwrap();
    assert!(edge.closes().await.is_empty());
}

#[tokio::test]
async fn draining_closes_a_connection_that_never_spoke() {
    let mut edge = Edge::new().await;
    edge.settle().await;
    edge.lifecycle.drain.cancel();
    (&mut edge.served).await.unwrap();
}

#[tokio::test]
async fn draining_lets_the_request_in_hand_end() {
    let mut edge = Edge::new().await;
    edge.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n")
        .await;
    edge.settle().await;
    edge.lifecycle.drain.cancel();
    edge.settle().await;
    assert!(edge.is_open());
    edge.send("abc").await;
    let answer = String::from_utf8(edge.closes().await).unwrap();
    assert!(
        answer.contains("connection: close") && answer.ends_with("hello"),
        "{answer}"
    );
}

#[tokio::test]
async fn an_abort_ends_everything() {
    let mut edge = Edge::new().await;
    edge.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n")
        .await;
    edge.settle().await;
    edge.lifecycle.abort.cancel();
    (&mut edge.served).await.unwrap();
}

/// A close with unread bytes would be a reset, and the answer lost.
#[tokio::test]
async fn an_answer_to_an_unread_upload_arrives() {
    let mut edge = Edge::new().await;
    let head = format!("POST /unread HTTP/1.1\r\nhost: a\r\ncontent-length: {LARGE}\r\n\r\n");
    edge.send(head).await;
    edge.send(vec![0; LARGE]).await;
    let answer = String::from_utf8(edge.closes().await).unwrap();
    assert!(answer.ends_with("hello"), "{answer}");
}

#[tokio::test]
async fn an_uploader_that_never_ends_is_not_listened_to_for_ever() {
    let mut edge = Edge::new().await;
    let head = format!("POST /unread HTTP/1.1\r\nhost: a\r\ncontent-length: {LARGE}\r\n\r\n");
    edge.send(head).await;
    edge.answered.recv().await.unwrap();
    edge.passes(1).await;
    assert!(edge.is_open());
    edge.passes(1).await;
    (&mut edge.served).await.unwrap();
}
