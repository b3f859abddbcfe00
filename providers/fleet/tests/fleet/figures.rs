//! The figures: what parking adds to a warm request, beside the bare broker's
//! round trip in the same run.
#![allow(clippy::disallowed_methods)] // it measures

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use thermocline_broker::{Broker, Limits, MemoryBroker};
use thermocline_clock::Clock;

use crate::scene::{Held, Scene, Worker};

const ROUNDS: usize = 500;

/// Half of `times` are shorter.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Answers every job of `m`.
async fn work(worker: Worker, broker: Arc<MemoryBroker>) {
    let mut jobs = broker.consume("m", 1).await.unwrap();
    while let Some(delivery) = jobs.next().await {
        let job = serde_json::from_slice(delivery.body()).unwrap();
        let held = Held { job, delivery };
        let granted = worker.claim(&held).await.unwrap();
        worker
            .answer(&held.job, &granted.grant.run, "picture")
            .await
            .unwrap();
        held.delivery.ack().await.unwrap();
    }
}

/// From a publish until the consumer has acknowledged.
async fn bare_broker() -> Duration {
    let broker = MemoryBroker::new(Clock::system(), &Limits::default());
    let mut jobs = broker.consume("m", 1).await.unwrap();
    let (acked, mut settled) = tokio::sync::mpsc::channel(1);
    let consumer = tokio::spawn(async move {
        while let Some(delivery) = jobs.next().await {
            delivery.ack().await.unwrap();
            if acked.send(()).await.is_err() {
                return;
            }
        }
    });
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        broker
            .publish("m", Bytes::from_static(&[b'x'; 300]))
            .await
            .unwrap();
        settled.recv().await.unwrap();
        times.push(began.elapsed());
    }
    consumer.abort();
    median(times)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parking_adds_little_to_a_warm_request() {
    let bare = bare_broker().await;
    let scene = Scene::new().await;
    let worker = tokio::spawn(work(scene.worker("w"), scene.broker.clone()));
    let (mut parked, mut direct) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + 20 {
        // A call of the same server that no worker has part in is what a backend costs.
        let began = Instant::now();
        let probe = scene.probe("/").body("prompt").send().await.unwrap();
        assert_eq!(probe.bytes().await.unwrap().len(), 0);
        let called = began.elapsed();
        let began = Instant::now();
        let body = scene.ask("prompt").whole().await.unwrap();
        assert_eq!(body, "picture");
        if round >= 20 {
            direct.push(called);
            parked.push(began.elapsed());
        }
    }
    worker.abort();
    let (parked, direct) = (median(parked), median(direct));
    let added = parked.saturating_sub(direct);
    println!(
        "direct {direct:?}, parked {parked:?}, added {added:?}; bare broker {bare:?} (medians of {ROUNDS})"
    );
    assert!(added <= Duration::from_millis(20), "{added:?}");
}
