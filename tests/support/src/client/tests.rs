//! What the backend cannot show of the client.

use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::server::conn::http2 as server;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

use super::*;
use crate::backend::{FakeBackend, Latch, Reading, Reply};

#[tokio::test]
async fn a_client_gives_up_when_nothing_comes() {
    let backend = FakeBackend::start(Reply::ok("").held_until(&Latch::new())).await;
    let client = RawClient::connect(backend.address()).await.unwrap();
    let mut client = client.with_patience(Duration::from_millis(10));
    let response = client.request("GET", "/").send().await;
    assert!(matches!(response, Err(ClientError::TimedOut(_))));
}

#[tokio::test]
async fn a_body_that_nobody_reads_holds_the_sender_back() {
    let latch = Latch::new();
    let unread = Reply::ok("").reading(Reading::After(latch.clone()));
    let backend = FakeBackend::start(unread).await;
    let mut client = RawClient::connect(backend.address()).await.unwrap();
    let sent = client.halves().0.sent_bytes();
    let upload = client.request("POST", "/").pattern(64 << 20, false);
    let mut upload = std::pin::pin!(upload.send());
    tokio::select! {
        _ = &mut upload => panic!("answered before the body was read"),
        _ = backend.wait_for(|s| s.requests.len() == 1) => {}
    }
    assert!(sent.load(Ordering::Relaxed) < 64 << 20);
    latch.open();
    assert_eq!(upload.await.unwrap().status, 200);
    let hash = backend.seen().requests[0].body_sha256.clone();
    assert_eq!(hash, Some(pattern_sha256(64 << 20)));
}

/// An HTTP/2 server with one connection, whose body ends well or is broken
/// off when `end` opens.
async fn http2_server(whole: bool, end: Latch) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let service = service_fn(move |_| {
            let body = StreamBody::new(body_frames(whole, end.clone()));
            async { Ok::<_, Infallible>(http::Response::new(BodyExt::boxed(body))) }
        });
        let served = server::Builder::new(TokioExecutor::new());
        let _ = served.serve_connection(TokioIo::new(stream), service).await;
    });
    address
}

fn body_frames(
    whole: bool,
    end: Latch,
) -> impl Stream<Item = Result<Frame<Bytes>, &'static str>> + Send + Sync {
    let part = stream::once(async { Ok(Frame::data(Bytes::from("part"))) });
    part.chain(stream::once(async move {
        end.opened().await;
        match whole {
            true => Ok(Frame::trailers(one_trailer())),
            false => Err("broken"),
        }
    }))
}

fn one_trailer() -> http::HeaderMap {
    let mut trailers = http::HeaderMap::new();
    trailers.insert("x-t", "1".parse().unwrap());
    trailers
}

#[tokio::test]
async fn http2_tells_a_whole_body_from_a_reset_one() {
    for (whole, ended) in [(true, Ended::Clean), (false, Ended::Aborted)] {
        let end = Latch::new();
        let address = http2_server(whole, end.clone()).await;
        let mut client = Http2Client::connect(address).await.unwrap();
        let uri = format!("http://{address}/x");
        let request = http::Request::get(uri).body(Bytes::new()).unwrap();
        let mut response = client.send(request).await.unwrap();
        assert_eq!(response.status, 200);
        let part = response.read_chunk().await.unwrap().unwrap();
        assert_eq!(part.bytes, "part");
        end.open();
        let body = response.read_body().await.unwrap();
        assert_eq!(body.ended, ended);
        assert_eq!(body.trailers.contains("x-t"), whole);
    }
}
