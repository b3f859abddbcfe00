//! A fleet with a broker in memory, a client in the gateway's place, and a
//! worker that does what the test says.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use reqwest::{Client, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thermocline_broker::{Broker, Delivery, Limits, MemoryBroker};
use thermocline_clock::{Clock, ManualClock};
use thermocline_fleet::{Account, Fleet, Settings};
use thermocline_provider::fleet::{FleetTally, SharedFleet};
use thermocline_provider::{Address, Provider};
use thermocline_wire::fleet::{Claim, Ending, Failure, FailureKind, Grant, Job, ResultHead, frame};

pub(crate) const TOKEN: &str = "worker-token";

pub(crate) struct Scene {
    pub(crate) fleet: Fleet,
    pub(crate) broker: Arc<MemoryBroker>,
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
        let fleet = Fleet::connect(settings, broker.clone(), clock)
            .await
            .unwrap();
        let address = deploy(&fleet, "key", "m").await;
        Scene {
            fleet,
            broker,
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

/// A worker that does what the test says.
pub(crate) struct Worker {
    name: String,
    token: String,
    url: String,
    broker: Arc<MemoryBroker>,
    client: Client,
}

/// A job in a worker's hands.
pub(crate) struct Held {
    pub(crate) job: Job,
    pub(crate) delivery: Delivery,
}

/// A claim that was granted.
pub(crate) struct Granted {
    pub(crate) grant: Grant,
    pub(crate) payload: Bytes,
    rest: Frames,
}

impl Worker {
    /// The next job of `m`, once there is one.
    pub(crate) async fn take(&self) -> Held {
        loop {
            if let Some(delivery) = self.broker.take("m").await.unwrap() {
                let job = serde_json::from_slice(delivery.body()).unwrap();
                return Held { job, delivery };
            }
            tokio::task::yield_now().await;
        }
    }

    /// Takes the next job and claims it.
    pub(crate) async fn begin(&self) -> (Held, Granted) {
        let held = self.take().await;
        let granted = self.claim(&held).await.unwrap();
        (held, granted)
    }

    pub(crate) async fn claim(&self, held: &Held) -> Result<Granted, String> {
        self.claim_as(&held.job, "1", held.delivery.attempts())
            .await
    }

    pub(crate) async fn claim_as(
        &self,
        job: &Job,
        incarnation: &str,
        attempts: u32,
    ) -> Result<Granted, String> {
        let claim = Claim {
            worker: self.name.clone(),
            incarnation: incarnation.to_owned(),
            ticket: job.ticket.clone(),
            attempts,
        };
        let sent = self
            .call(&job.id, "claim")
            .json(&claim)
            .send()
            .await
            .unwrap();
        let mut rest = Frames::new(refused(sent).await?);
        let grant: Grant = rest.frame().await.unwrap();
        let payload = rest.bytes(grant.payload_bytes as usize).await.unwrap();
        Ok(Granted {
            grant,
            payload,
            rest,
        })
    }

    /// Posts a whole result.
    pub(crate) async fn answer(
        &self,
        job: &Job,
        run: &str,
        body: &'static str,
    ) -> Result<(), String> {
        let head = head(run, &[("content-type", "text/plain")]);
        self.post_result(job, &head, body.as_bytes().to_vec()).await
    }

    pub(crate) async fn post_result(
        &self,
        job: &Job,
        head: &ResultHead,
        body: Vec<u8>,
    ) -> Result<(), String> {
        let mut whole = frame(head).unwrap();
        whole.extend(body);
        self.post_body(job, whole.into()).await
    }

    pub(crate) async fn post_body(&self, job: &Job, body: reqwest::Body) -> Result<(), String> {
        let sent = self
            .call(&job.id, "result")
            .body(body)
            .send()
            .await
            .unwrap();
        refused(sent).await.map(drop)
    }

    pub(crate) async fn fail(
        &self,
        job: &Job,
        run: &str,
        kind: FailureKind,
        last: bool,
    ) -> Result<(), String> {
        let failure = Failure {
            run: run.to_owned(),
            worker: self.name.clone(),
            kind,
            status: None,
            detail: "it went wrong".to_owned(),
            last,
        };
        let sent = self
            .call(&job.id, "failure")
            .json(&failure)
            .send()
            .await
            .unwrap();
        refused(sent).await.map(drop)
    }

    pub(crate) fn call(&self, job: &str, call: &str) -> RequestBuilder {
        let url = format!("{}/v1/jobs/{job}/{call}", self.url);
        self.client.post(url).bearer_auth(&self.token)
    }

    pub(crate) async fn model(&self, deployment: &str) -> Result<Value, String> {
        let url = format!("{}/v1/models/{deployment}", self.url);
        let sent = self
            .client
            .get(url)
            .bearer_auth(&self.token)
            .send()
            .await
            .unwrap();
        Ok(refused(sent).await?.json().await.unwrap())
    }
}

impl Granted {
    /// Why the work is over, once it is.
    pub(crate) async fn ending(mut self) -> Ending {
        self.rest.frame().await.unwrap()
    }
}

/// The head of a result of `run`.
pub(crate) fn head(run: &str, headers: &[(&str, &str)]) -> ResultHead {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    ResultHead {
        run: run.to_owned(),
        status: 200,
        headers: headers.collect(),
        coding: "identity".to_owned(),
        queue_ms: 1,
        load_ms: 0,
    }
}

/// The response, or the code of what was refused.
async fn refused(response: Response) -> Result<Response, String> {
    if response.status().is_success() {
        return Ok(response);
    }
    let problem: Value = response.json().await.unwrap();
    Err(problem["code"].as_str().unwrap().to_owned())
}

/// Frames out of a response that stays open.
struct Frames {
    pieces: futures_util::stream::BoxStream<'static, reqwest::Result<Bytes>>,
    unread: BytesMut,
}

impl Frames {
    fn new(response: Response) -> Self {
        Frames {
            pieces: response.bytes_stream().boxed(),
            unread: BytesMut::new(),
        }
    }

    async fn bytes(&mut self, count: usize) -> Option<Bytes> {
        while self.unread.len() < count {
            let piece = self.pieces.next().await?.ok()?;
            self.unread.extend_from_slice(&piece);
        }
        Some(self.unread.split_to(count).freeze())
    }

    async fn frame<T: DeserializeOwned>(&mut self) -> Option<T> {
        let length = self.bytes(4).await?;
        let length = u32::from_be_bytes(length.as_ref().try_into().unwrap());
        let json = self.bytes(length as usize).await?;
        serde_json::from_slice(&json).ok()
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
