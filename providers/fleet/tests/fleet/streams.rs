//! Results as they come: streamed, compressed, broken off.

use std::io;
use std::time::Duration;

use async_compression::tokio::write::GzipEncoder;
use bytes::Bytes;
use futures_util::StreamExt;
use thermocline_provider::fleet::FleetResult;
use thermocline_wire::fleet::{Ending, frame};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::scene::{Scene, head};
use crate::streamed::Streamed;

#[tokio::test]
async fn events_reach_the_client_one_by_one() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let (held, granted) = scene.worker("w").begin().await;
    let kind = [("content-type", "text/event-stream")];
    let result = Streamed::begin(scene.worker("w"), &held, &granted, &kind).await;
    let mut body = asked.response().await.bytes_stream();
    for event in ["data: 1\n\n", "data: 2\n\n"] {
        result.send(event).await;
        assert_eq!(body.next().await.unwrap().unwrap(), event);
    }
    result.end().await.unwrap();
    assert!(body.next().await.is_none());
    assert_eq!(granted.ending().await, Ending::Settled);
    scene.at_rest().await;
}

#[tokio::test]
async fn a_worker_that_breaks_off_is_never_a_clean_end() {
    for headers in [vec![], vec![("content-length", "100")]] {
        let scene = Scene::new().await;
        let asked = scene.ask("prompt");
        let (held, granted) = scene.worker("w").begin().await;
        let result = Streamed::begin(scene.worker("w"), &held, &granted, &headers).await;
        result.send("half").await;
        let mut body = asked.response().await.bytes_stream();
        assert_eq!(body.next().await.unwrap().unwrap(), "half");
        result.posted.abort();
        assert!(body.next().await.unwrap().is_err());
        scene.at_rest().await;
        assert_eq!(
            scene.worker("w").claim(&held).await.err().unwrap(),
            "answered"
        );
    }
}

#[tokio::test]
async fn a_result_shorter_than_it_says_is_no_clean_end() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let (held, granted) = scene.worker("w").begin().await;
    let head = head(&granted.grant.run, &[("content-length", "10")]);
    let _refused = scene
        .worker("w")
        .post_result(&held.job, &head, b"short".to_vec())
        .await;
    assert!(asked.whole().await.is_err());
    scene.at_rest().await;
}

#[tokio::test]
async fn a_client_that_leaves_during_the_result_stops_it() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let (held, granted) = scene.worker("w").begin().await;
    let result = Streamed::begin(scene.worker("w"), &held, &granted, &[]).await;
    result.send("half").await;
    drop(asked.response().await);
    assert_eq!(granted.ending().await, Ending::ClientLeft);
    assert_eq!(result.end().await.unwrap_err(), "client_left");
    scene.at_rest().await;
    assert_eq!(scene.ended(FleetResult::ClientLeft), 1);
}

#[tokio::test]
async fn what_is_compressed_on_the_hop_is_plain_to_the_client() {
    let scene = Scene::new().await;
    let asked = scene.ask("prompt");
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    let plain = "a line like any other\n".repeat(10_000);
    let mut encoder = GzipEncoder::new(Vec::new());
    encoder.write_all(plain.as_bytes()).await.unwrap();
    encoder.shutdown().await.unwrap();
    let mut head = head(&granted.grant.run, &[("content-type", "text/plain")]);
    head.coding = "gzip".to_owned();
    worker
        .post_result(&held.job, &head, encoder.into_inner())
        .await
        .unwrap();
    assert_eq!(asked.response().await.text().await.unwrap(), plain);
}

#[tokio::test]
async fn a_slow_client_holds_its_worker_back_and_nobody_else() {
    let scene = Scene::new().await;
    let slow = scene.ask("slow");
    let (held, granted) = scene.worker("w").begin().await;
    let (pieces, mut read) = mpsc::channel::<io::Result<Bytes>>(1);
    pieces
        .send(Ok(frame(&head(&granted.grant.run, &[])).unwrap().into()))
        .await
        .unwrap();
    let body = futures_util::stream::poll_fn(move |cx| read.poll_recv(cx));
    let (worker, job) = (scene.worker("w"), held.job.clone());
    let posting = tokio::spawn(async move {
        worker
            .post_body(&job, reqwest::Body::wrap_stream(body))
            .await
    });
    let response = slow.response().await;
    let piece = Bytes::from(vec![b'x'; 256 * 1024]);
    let mut sent = 0;
    let stalls = Duration::from_millis(300);
    while tokio::time::timeout(stalls, pieces.send(Ok(piece.clone())))
        .await
        .is_ok()
    {
        sent += piece.len();
        assert!(sent < 64 << 20, "nobody holds the worker back");
    }
    let quick = scene.ask("quick");
    let worker = scene.worker("w");
    let (other, granted) = worker.begin().await;
    worker
        .answer(&other.job, &granted.grant.run, "at once")
        .await
        .unwrap();
    assert_eq!(quick.status().await, 200);
    drop(pieces);
    let whole = response.bytes().await.unwrap().len();
    assert!(whole >= sent);
    posting.await.unwrap().unwrap();
}
