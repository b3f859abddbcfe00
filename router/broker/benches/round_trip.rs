//! One message from its publication to its acknowledgement, one at a time: in
//! memory, over RabbitMQ, and over RabbitMQ with its library alone, in turn, so
//! that all see the same machine. The last two are skipped where RabbitMQ is
//! not installed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a bench is an edge itself

mod bare;

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use thermocline_broker::{Broker, Deliveries, Limits, MemoryBroker, RabbitMq, RabbitMqAddress};
use thermocline_clock::Clock;
use thermocline_rabbitmq::Server;

use bare::Bare;

/// As large as a job is.
const JOB: &[u8] = &[b'x'; 400];

/// Round trips before those that count: a new queue has settled by then.
const WARM_UP: usize = 100;
const ROUNDS: usize = 2_000;

/// A broker of ours and a subscription to the one queue.
struct Ours<B> {
    broker: B,
    deliveries: Deliveries,
}

impl<B: Broker> Ours<B> {
    async fn over(broker: B) -> Self {
        while broker.available().is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let deliveries = broker.consume("bench", 1).await.unwrap();
        Ours { broker, deliveries }
    }

    async fn round_trip(&mut self) {
        let job = Bytes::from_static(JOB);
        self.broker.publish("bench", job).await.unwrap();
        let delivery = self.deliveries.next().await.unwrap();
        delivery.ack().await.unwrap();
    }
}

/// How long it takes.
async fn timed(trip: impl Future<Output = ()>) -> Duration {
    let began = Instant::now();
    trip.await;
    began.elapsed()
}

async fn in_memory() {
    let broker = MemoryBroker::new(Clock::system(), &Limits::default());
    let mut ours = Ours::over(broker).await;
    let mut times = Vec::new();
    for round in 0..WARM_UP + ROUNDS {
        let took = timed(ours.round_trip()).await;
        if round >= WARM_UP {
            times.push(took);
        }
    }
    println!("in memory: {}", quantiles(times));
}

async fn over_rabbitmq() {
    let Some(server) = Server::start().await else {
        return;
    };
    let address = RabbitMqAddress::parse(&server.url()).unwrap();
    let broker = RabbitMq::start(address, "bench", Limits::default(), Clock::system());
    let mut ours = Ours::over(broker).await;
    let mut bare = Bare::connect(&server.url()).await;
    let mut times = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + ROUNDS {
        let took = match round % 2 {
            0 => {
                let took = timed(ours.round_trip()).await;
                (took, timed(bare.round_trip(JOB)).await)
            }
            _ => {
                let first = timed(bare.round_trip(JOB)).await;
                (timed(ours.round_trip()).await, first)
            }
        };
        if round >= WARM_UP {
            times.0.push(took.0);
            times.1.push(took.1);
        }
    }
    let pairs = times.0.iter().zip(&times.1);
    let mut ratios: Vec<f64> = pairs
        .map(|(ours, bare)| ours.div_duration_f64(*bare))
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    println!("over RabbitMQ: {}", quantiles(times.0));
    println!("its library alone: {}", quantiles(times.1));
    println!("ratio of a pair: p50 {:.2}", ratios[ratios.len() / 2]);
}

fn quantiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: usize| times[times.len() * share / 100];
    format!("p50 {:.1?}, p90 {:.1?}, p99 {:.1?}", at(50), at(90), at(99))
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    in_memory().await;
    over_rabbitmq().await;
}
