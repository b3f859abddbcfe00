//! A broker in memory, a gateway, and workers, on a clock that the test moves.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use thermocline_broker::{Broker, Burial, DeadLetters, Limits, MemoryBroker};
use thermocline_clock::{Clock, ManualClock};
use thermocline_wire::fleet::{Model, Obituary, Terms};
use thermocline_worker::{ConfiguredMemory, Parts, Settings, Worker};

use crate::gateway::{Gateway, Reached};
use crate::runtime::ScriptRuntime;

pub(crate) const STEP: Duration = Duration::from_millis(50);
pub(crate) const FOREVER: Duration = Duration::from_secs(3_600);

pub(crate) struct Stage {
    pub(crate) time: ManualClock,
    pub(crate) broker: Arc<MemoryBroker>,
    pub(crate) gateway: Arc<Gateway>,
    since_announced: Duration,
}

/// A worker and what it runs on.
pub(crate) struct Node {
    pub(crate) worker: Worker,
    pub(crate) runtime: ScriptRuntime,
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

impl Stage {
    pub(crate) fn new() -> Self {
        Stage::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let broker = Arc::new(MemoryBroker::new(time.clock(), &limits));
        let gateway = Gateway::new(time.clock(), broker.clone());
        Stage {
            time,
            broker,
            gateway,
            since_announced: Duration::ZERO,
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.time.clock()
    }

    /// Makes a deployment known, of 1,000 MiB unless `change` says otherwise.
    pub(crate) fn deploy(&self, name: &str, change: impl FnOnce(&mut Model)) {
        let mut model = Model {
            deployment: name.to_owned(),
            generation: "1".into(),
            image: "image".into(),
            command: Vec::new(),
            args: Vec::new(),
            env: Default::default(),
            port: 80,
            ready_path: "/".into(),
            ready_status: Vec::new(),
            start_timeout_ms: 600_000,
            gpus: 0,
            terms: Terms {
                memory_mib: 1_000,
                ..Terms::default()
            },
        };
        change(&mut model);
        self.gateway.state().models.insert(name.to_owned(), model);
    }

    /// Starts a worker with so many permits and so much memory.
    pub(crate) async fn worker(&self, name: &str, permits: u32, memory_mib: u64) -> Node {
        self.worker_with(name, permits, memory_mib, |_| {}).await
    }

    pub(crate) async fn worker_with(
        &self,
        name: &str,
        permits: u32,
        memory_mib: u64,
        change: impl FnOnce(&mut Settings),
    ) -> Node {
        let mut settings = Settings::new(name, permits);
        change(&mut settings);
        self.worker_on(self.broker.clone(), settings, memory_mib)
            .await
    }

    /// Starts a worker that reaches the queues through `broker`.
    pub(crate) async fn worker_on(
        &self,
        broker: Arc<dyn Broker>,
        settings: Settings,
        memory_mib: u64,
    ) -> Node {
        let runtime = ScriptRuntime::new(self.clock());
        self.worker_over(runtime, broker, settings, memory_mib)
            .await
    }

    /// Starts a worker over a runtime that is there already.
    pub(crate) async fn worker_over(
        &self,
        runtime: ScriptRuntime,
        broker: Arc<dyn Broker>,
        settings: Settings,
        memory_mib: u64,
    ) -> Node {
        let name = settings.name.clone();
        let worker = Worker::start(Parts {
            settings,
            broker,
            gateways: Arc::new(Reached(self.gateway.clone(), name)),
            runtime: Arc::new(runtime.clone()),
            memory: Arc::new(ConfiguredMemory::new(vec![memory_mib])),
            clock: self.clock(),
        });
        settle().await;
        Node { worker, runtime }
    }

    pub(crate) async fn submit(&self, deployment: &str, payload: &str) -> String {
        self.gateway.submit(deployment, payload, FOREVER).await
    }

    /// Lets time pass in small steps; the gateway announces five times a second.
    pub(crate) async fn pass(&mut self, span: Duration) {
        let mut left = span;
        settle().await;
        while !left.is_zero() {
            let step = left.min(STEP);
            self.time.advance(step);
            left -= step;
            self.since_announced += step;
            if self.since_announced >= seconds(1) / 5 {
                self.since_announced = Duration::ZERO;
                self.gateway.announce().await;
            }
            settle().await;
        }
    }

    pub(crate) async fn waiting(&self, queue: &str) -> u64 {
        self.broker.depth(queue).await.unwrap().waiting
    }

    pub(crate) async fn graveyard(&self) -> DeadLetters {
        self.broker.dead_letters().await.unwrap()
    }
}

/// The dead letters so far, acknowledged.
pub(crate) async fn buried(graveyard: &mut DeadLetters) -> Vec<Obituary> {
    let mut all = Vec::new();
    while let Ok(Some(letter)) =
        tokio::time::timeout(Duration::from_millis(5), graveyard.next()).await
    {
        match letter.burial {
            Burial::GivenUp { report } => all.push(serde_json::from_slice(&report).unwrap()),
            Burial::Undeliverable => panic!("undeliverable"),
        }
        letter.delivery.ack().await.unwrap();
    }
    all
}

/// Lets every task do what it can without time passing.
pub(crate) async fn settle() {
    for _ in 0..80 {
        tokio::task::yield_now().await;
    }
}
