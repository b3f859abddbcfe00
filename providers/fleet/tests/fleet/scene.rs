//! A fleet with a broker in memory, a client in the gateway's place, and a
//! worker that does what the test says.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use reqwest::{Client, RequestBuilder, Response};
use serde::Serialize;
use serde_json::{Value, json};
use thermocline_broker::{Limits, MemoryBroker};
use thermocline_cable::Cable;
use thermocline_clock::{Clock, ManualClock};
use thermocline_fleet::{Account, Fleet, Settings};
use thermocline_provider::fleet::{FleetResult, FleetTally, SharedFleet};
use thermocline_provider::{Address, Provider};

pub(crate) use crate::worker::{Granted, Held, Worker, head};

pub(crate) const TOKEN: &str = "worker-token";

pub(crate) struct Scene {
    pub(crate) fleet: Fleet,
    pub(crate) broker: Arc<MemoryBroker>,
    /// The fleet's own, to `broker`.
    pub(crate) line: Cable,
    pub(crate) address: Address,
    client: Client,
}

/// A clock that only the test moves.
pub(crate) fn still() -> ManualClock {
    ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000))
}

pub(crate) fn settings() -> Settings {
    Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        accounts: vec![
            Account::new("all", TOKEN, vec!["*".to_owned()]),
            Account::new("other", "other-token", vec!["other".to_owned()]),
            Account::new("twin", "twin-token", vec!["*".to_owned()]),
        ],
        ..Settings::default()
    }
}

impl Scene {
    /// A fleet that serves the deployment `m`.
    pub(crate) async fn new() -> Scene {
        Scene::with(settings(), Clock::system()).await
    }

    pub(crate) async fn with(settings: Settings, clock: Clock) -> Scene {
        let broker = Arc::new(MemoryBroker::new(clock.clone(), &Limits::default()));
        let line = Cable::to(broker.clone());
        let fleet = Fleet::connect(settings, Arc::new(line.clone()), clock);
        let fleet = fleet.await.unwrap();
        let address = deploy(&fleet, "key", "m").await;
        Scene {
            fleet,
            broker,
            line,
            address,
            client: Client::builder().no_proxy().build().unwrap(),
        }
    }

    /// A request as the gateway sends it, with a minute left.
    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        self.post_within(path, Duration::from_secs(60))
    }

    /// A request that says nothing of its deadline, as the control plane's probes.
    pub(crate) fn probe(&self, path: &str) -> RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.address.url));
        let headers = self.address.headers.iter();
        headers.fold(request, |request, (name, value)| {
            request.header(name, value)
        })
    }

    pub(crate) fn post_within(&self, path: &str, remaining: Duration) -> RequestBuilder {
        self.probe(path).header(
            "x-thermocline-remaining-ms",
            remaining.as_millis().to_string(),
        )
    }

    /// A request under way.
    pub(crate) fn ask(&self, body: &'static str) -> Asked {
        self.ask_within(body, Duration::from_secs(60))
    }

    pub(crate) fn ask_within(&self, body: &'static str, remaining: Duration) -> Asked {
        let request = self.post_within("/generate?n=1", remaining).body(body);
        Asked::send(request)
    }

    pub(crate) fn worker(&self, name: &str) -> Worker {
        self.worker_with(name, TOKEN)
    }

    pub(crate) fn worker_with(&self, name: &str, token: &str) -> Worker {
        Worker {
            name: name.to_owned(),
            token: token.to_owned(),
            url: self.fleet.reply_to().unwrap().to_owned(),
            broker: self.broker.clone(),
            client: self.client.clone(),
        }
    }

    pub(crate) fn tally(&self) -> FleetTally {
        self.fleet.tally()
    }

    /// How many requests ended as `result` says.
    pub(crate) fn ended(&self, result: FleetResult) -> u64 {
        self.tally().of(result)
    }

    /// Waits until the tally is as `wanted`.
    pub(crate) async fn until(&self, wanted: impl Fn(&FleetTally) -> bool) {
        let looks = async {
            while !wanted(&self.tally()) {
                tokio::task::yield_now().await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(10), looks).await;
        assert!(in_time.is_ok(), "{:?}", self.tally());
    }

    /// Nothing is parked any more.
    pub(crate) async fn at_rest(&self) {
        self.until(|tally| (tally.parked, tally.running, tally.held_bytes) == (0, 0, 0))
            .await;
    }
}

/// Makes the fleet serve `deployment`; where the gateway reaches it.
pub(crate) async fn deploy(fleet: &Fleet, key: &str, deployment: &str) -> Address {
    let request = json!({
        "owner": "o", "deployment": deployment, "tier": "serverless", "image": "image", "port": 8000,
    });
    let request = serde_json::from_value(request).unwrap();
    let made = fleet.create(key, &request).await.unwrap();
    fleet.reach(&made.address.unwrap())
}

/// A request on its way.
pub(crate) struct Asked(tokio::task::JoinHandle<reqwest::Result<Response>>);

impl Asked {
    pub(crate) fn send(request: RequestBuilder) -> Self {
        Asked(tokio::spawn(request.send()))
    }

    pub(crate) async fn response(self) -> Response {
        self.0.await.unwrap().unwrap()
    }

    /// The body; an error when it, or the response, did not come whole.
    pub(crate) async fn whole(self) -> reqwest::Result<Bytes> {
        self.0.await.unwrap()?.bytes().await
    }

    pub(crate) async fn status(self) -> u16 {
        self.response().await.status().as_u16()
    }

    /// The client leaves.
    pub(crate) fn leave(self) {
        self.0.abort();
    }
}

/// A report as a worker announces it.
pub(crate) fn report(
    worker: &str,
    incarnation: &str,
    sequence: u64,
    valid: Duration,
) -> impl Serialize {
    report_of(worker, incarnation, sequence, valid, &[])
}

/// The same, of a worker that holds `models`, loaded.
pub(crate) fn report_of(
    worker: &str,
    incarnation: &str,
    sequence: u64,
    valid: Duration,
    models: &[&str],
) -> impl Serialize {
    let resident = |model: &&str| {
        json!({
            "deployment": model, "memory_mib": 1, "in_flight": 0, "idle_ms": 0,
            "load_ms": 1, "loading": false,
        })
    };
    let resident: Vec<Value> = models.iter().map(resident).collect();
    json!({
        "worker": worker, "incarnation": incarnation, "sequence": sequence,
        "valid_ms": valid.as_millis() as u64, "state": "ready", "shape": "gpu",
        "permits": 1, "in_flight": 0, "memory_mib": 0, "free_mib": 0, "resident": resident,
        "subscribed": ["m"], "loads": 0, "evictions": 0, "jobs": 0, "load_rate": 0.0,
    })
}
