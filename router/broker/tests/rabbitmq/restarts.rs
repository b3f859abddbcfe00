//! The broker is killed and started again, under load. `THERMOCLINE_BROKER_RESTARTS`
//! says how often.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use thermocline_broker::{Broker, Delivery, Limits, Lost, RabbitMq};

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

async fn restart_often(scene: &mut Scene, often: usize) -> Vec<Duration> {
    let mut recoveries = Vec::new();
    publish_a_probe(&scene.broker).await;
    for _ in 0..often {
        tokio::time::sleep(Duration::from_millis(500)).await;
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
        let recoveries = restart_often(&mut scene, often).await;
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
    for ms in [100, 400, 1_500] {
        settle(&scene.broker, async |delivery| {
            delivery
                .retry("job".into(), Duration::from_millis(ms))
                .await
        })
        .await;
    }
    settle(&scene.broker, async |delivery| {
        delivery.bury("dead".into(), "why".into()).await
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

/// Takes the job of `q` until `how` has settled it.
async fn settle(broker: &RabbitMq, how: impl AsyncFn(Delivery) -> Result<(), Lost>) {
    let settling = async {
        loop {
            if let Ok(Some(delivery)) = broker.take("q").await
                && how(delivery).await.is_ok()
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
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
