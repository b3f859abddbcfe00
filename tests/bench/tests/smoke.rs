//! The load and the backend together, in one process and for moments only.

#![allow(clippy::unwrap_used)] // all of this file is tests

use std::net::SocketAddr;
use std::time::Duration;

use thermocline_bench::Kind;
use thermocline_bench::load::{Load, Tally};
use thermocline_bench::origin::Origin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

async fn origin() -> SocketAddr {
    let origin = Origin::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = origin.address().unwrap();
    tokio::spawn(origin.serve());
    address
}

async fn slot(kind: Kind, length: Duration) -> Tally {
    Load::new(origin().await, "/d/bench", kind, 4)
        .slot(length)
        .await
}

#[tokio::test]
async fn every_kind_of_request_is_answered_whole() {
    for kind in [
        Kind::Post(200),
        Kind::Upload(3 << 20),
        Kind::Download(3 << 20),
        Kind::Burst,
    ] {
        let tally = slot(kind, Duration::from_millis(50)).await;
        assert_eq!(tally.failures(), 0, "{kind}: {:?}", tally.faults);
        assert!(tally.requests >= 4 && tally.latency.total() == tally.requests);
    }
}

#[tokio::test]
async fn a_slot_of_no_length_is_one_request_on_each_connection() {
    let tally = slot(Kind::Paced, Duration::ZERO).await;
    assert_eq!((tally.requests, tally.failures()), (4, 0));
    assert_eq!(tally.lateness.total(), 400);
}

#[tokio::test]
async fn connections_are_kept_from_slot_to_slot() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let front = listener.local_addr().unwrap();
    let back = origin().await;
    // Forwards exactly one connection: a second one would never be answered.
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut server = tokio::net::TcpStream::connect(back).await.unwrap();
        tokio::io::copy_bidirectional(&mut client, &mut server).await
    });
    let mut load = Load::new(front, "", Kind::Post(200), 1);
    for _ in 0..3 {
        let tally = load.slot(Duration::ZERO).await;
        assert_eq!((tally.requests, tally.failures()), (1, 0));
    }
}

#[tokio::test]
async fn what_is_not_as_asked_is_reported_and_not_counted() {
    let refused = answering("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(refused, "status 503");
    let short = answering("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello").await;
    assert_eq!(short, "closed before the answer's end");
    let other = answering("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await;
    assert_eq!(other, "another body than asked for");
}

/// The one fault of a request that a server answers with `text`.
async fn answering(text: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
        stream.write_all(text.as_bytes()).await.unwrap();
    });
    let tally = Load::new(address, "", Kind::Post(200), 1)
        .slot(Duration::ZERO)
        .await;
    assert_eq!((tally.requests, tally.failures()), (0, 1));
    tally.faults.into_keys().next().unwrap()
}

#[tokio::test]
async fn who_never_answers_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut load = Load::new(address, "", Kind::Post(200), 3).patient(Duration::from_millis(20));
    let tally = load.slot(Duration::ZERO).await;
    assert_eq!((tally.requests, tally.faults["no answer in time"]), (0, 3));
}
