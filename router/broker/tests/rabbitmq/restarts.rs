//! The broker is killed and started again, under load. `THERMOCLINE_BROKER_RESTARTS`
//! says how often.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use lapin::{Connection, ConnectionProperties};
use thermocline_broker::{Broker, Deliveries, Delivery, Limits, Lost, RabbitMq};

use crate::scene::{Scene, connect, until};

const QUEUES: [&str; 3] = ["a", "b", "c"];

/// What is published and what has come.
#[derive(Default)]
struct Traffic {
    over: AtomicBool,
    serial: AtomicU64,
}

impl Traffic {
    /// Publishes until it is over; returns what was confirmed.
    async fn publish(&self, broker: &RabbitMq, queue: &str) -> HashSet<String> {
        let mut confirmed = HashSet::new();
        while !self.over.load(Ordering::Relaxed) {
            let number = self.serial.fetch_add(1, Ordering::Relaxed).to_string();
            if broker.publish(queue, number.clone().into()).await.is_ok() {
                confirmed.insert(number);
            }
        }
        confirmed
    }

    /// Acknowledges whatever comes, until it is over and nothing comes any more.
    async fn consume(&self, broker: &RabbitMq, queue: &str) -> HashSet<String> {
        let mut deliveries = broker.consume(queue, 8).await.expect("a subscription");
        let mut came = HashSet::new();
        loop {
            match tokio::time::timeout(Duration::from_secs(3), deliveries.next()).await {
                Ok(Some(delivery)) => {
                    came.insert(String::from_utf8_lossy(delivery.body()).into_owned());
                    let _ = delivery.ack().await;
                }
                Ok(None) => panic!("the deliveries ended"),
                Err(_) if self.over.load(Ordering::Relaxed) => return came,
                Err(_) => {}
            }
        }
    }
}

/// Kills and starts the server; returns how long the broker took to be there
/// after the server was.
async fn restart(scene: &mut Scene) -> Duration {
    scene.server.kill();
    until("the loss is noticed", || scene.broker.available().is_err()).await;
    scene.server.boot().await;
    let up = Instant::now();
    until("it is connected again", || scene.broker.available().is_ok()).await;
    let connected = up.elapsed();
    publish_a_probe(&scene.broker).await;
    println!(
        "connected after {connected:?}, confirmed after {:?}",
        up.elapsed()
    );
    up.elapsed()
}

async fn publish_a_probe(broker: &RabbitMq) {
    let published = broker.publish("probe", "a".into()).await;
    published.expect("it is confirmed");
}

async fn restart_often(scene: &mut Scene, traffic: &Traffic, often: usize) -> Vec<Duration> {
    let mut recoveries = Vec::new();
    publish_a_probe(&scene.broker).await;
    for _ in 0..often {
        let flowing = traffic.serial.load(Ordering::Relaxed) + 100;
        until("messages flow", || {
            traffic.serial.load(Ordering::Relaxed) > flowing
        })
        .await;
        recoveries.push(restart(scene).await);
    }
    recoveries.sort();
    recoveries
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_under_load_lose_nothing() {
    let Some(mut scene) = Scene::open(Limits::default()).await else {
        return;
    };
    let often = std::env::var("THERMOCLINE_BROKER_RESTARTS").map_or(2, |it| it.parse().unwrap());
    let other = connect(&scene.server.url(), "one", Limits::default()).await;
    let traffic = Traffic::default();
    let publishing = async {
        let each = QUEUES.map(|queue| traffic.publish(&other, queue));
        futures_util::future::join_all(each).await
    };
    let consuming = async {
        let each = QUEUES.map(|queue| traffic.consume(&other, queue));
        futures_util::future::join_all(each).await
    };
    let restarting = async {
        let recoveries = restart_often(&mut scene, &traffic, often).await;
        traffic.over.store(true, Ordering::Relaxed);
        recoveries
    };
    let (confirmed, came, recoveries) = tokio::join!(publishing, consuming, restarting);
    let sum = |sets: &[HashSet<String>]| sets.iter().map(HashSet::len).sum::<usize>();
    println!(
        "{often} restarts: {} confirmed, {} came; back after {:?} (median), {:?} (most)",
        sum(&confirmed),
        sum(&came),
        recoveries[often / 2],
        recoveries[often - 1],
    );
    for (confirmed, came) in confirmed.iter().zip(&came) {
        let missing: Vec<_> = confirmed.difference(came).collect();
        assert!(
            missing.is_empty(),
            "confirmed and never delivered: {missing:?}"
        );
    }
    assert!(
        recoveries[often - 1] <= Duration::from_secs(10),
        "{recoveries:?}"
    );
}

/// RabbitMQ writes down where a queue's messages are a moment after it made the
/// queue. A crash before that leaves a name without messages, and without end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_is_as_young_as_the_crash_keeps_its_message() {
    let Some(mut scene) = Scene::open(Limits::default()).await else {
        return;
    };
    let publishing = async {
        while let Err(error) = scene.broker.publish("young", "job".into()).await {
            println!("not yet: {error}");
        }
    };
    let crashing = async {
        while !waits(&scene.broker, "young").await {}
        scene.server.kill();
        scene.server.boot().await;
        Instant::now()
    };
    let ((), up) = tokio::join!(publishing, crashing);
    println!("published {:?} after the server was back", up.elapsed());
    let took = tokio::time::timeout(Duration::from_secs(20), take(&scene.broker, "young"));
    took.await.expect("the message is there");
}

/// The crash may come before the broker could say that it made the queue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_whose_making_was_never_answered_keeps_its_message() {
    let Some(mut scene) = Scene::open(Limits::default()).await else {
        return;
    };
    scene.proxy.deafen_after(&declaration("tc.one.q.young"));
    let publishing = async {
        while let Err(error) = scene.broker.publish("young", "job".into()).await {
            println!("not yet: {error}");
        }
    };
    let crashing = async {
        exists(&scene.server.url(), "tc.one.q.young").await;
        scene.server.kill();
        scene.proxy.hear();
        scene.server.boot().await;
        Instant::now()
    };
    let ((), up) = tokio::join!(publishing, crashing);
    println!("published {:?} after the server was back", up.elapsed());
    assert!(up.elapsed() <= Duration::from_secs(20));
    let took = tokio::time::timeout(Duration::from_secs(20), take(&scene.broker, "young"));
    took.await.expect("the message is there");
}

/// What a client says that declares the durable queue `name`, and does not only ask for it.
fn declaration(name: &str) -> Vec<u8> {
    let (method, durable) = ([0, 50, 0, 10, 0, 0, name.len() as u8], [0b10]);
    [&method, name.as_bytes(), &durable].concat()
}

/// Waits until the server has the queue `name`.
async fn exists(url: &str, name: &str) {
    let connection = Connection::connect(url, ConnectionProperties::default());
    let connection = connection.await.expect("a connection");
    let passive = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    let asked = async || {
        let channel = connection.create_channel().await?;
        channel
            .queue_declare(name.into(), passive, FieldTable::default())
            .await
    };
    while asked().await.is_err() {}
}

/// The same of the queues that every installation has: where jobs wait to be tried
/// again, and where the dead ones lie.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_as_young_as_the_crash_retries_and_buries() {
    let Some(mut scene) = Scene::open(Limits::default()).await else {
        return;
    };
    scene.server.kill();
    scene.server.boot().await;
    let up = Instant::now();
    while scene.broker.publish("q", "job".into()).await.is_err() {}
    let mut jobs = subscribed(&scene.broker, "q").await;
    for ms in [100, 400, 1_500] {
        settle(&mut jobs, async |job| {
            job.retry("job".into(), Duration::from_millis(ms)).await
        })
        .await;
    }
    settle(&mut jobs, async |job| {
        job.bury("dead".into(), "why".into()).await
    })
    .await;
    println!("buried {:?} after the server was back", up.elapsed());
    let letters = async {
        let mut letters = scene.broker.dead_letters().await.expect("a subscription");
        letters.next().await.expect("a dead letter")
    };
    let letter = tokio::time::timeout(Duration::from_secs(20), letters).await;
    assert_eq!(&letter.expect("it lies there").delivery.body()[..], b"dead");
}

async fn subscribed(broker: &RabbitMq, queue: &str) -> Deliveries {
    loop {
        if let Ok(deliveries) = broker.consume(queue, 1).await {
            return deliveries;
        }
    }
}

/// Until `how` has settled the next of `jobs`, which comes again where it has not.
async fn settle(jobs: &mut Deliveries, how: impl AsyncFn(Delivery) -> Result<(), Lost>) {
    let settling = async { while how(jobs.next().await.expect("it ended")).await.is_err() {} };
    let settled = tokio::time::timeout(Duration::from_secs(60), settling).await;
    settled.expect("it is settled");
}

async fn waits(broker: &RabbitMq, queue: &str) -> bool {
    broker.depth(queue).await.expect("it can be asked").waiting > 0
}

async fn take(broker: &RabbitMq, queue: &str) {
    loop {
        if let Some(delivery) = broker.take(queue).await.expect("it can be asked") {
            return delivery.ack().await.expect("it is ours");
        }
    }
}
