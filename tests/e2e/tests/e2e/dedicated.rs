//! One deployment `m` on the user's own instance, which a test scripts.

use serde_json::{Value, json};
use thermocline_clock::ManualClock;
use thermocline_support::backend::{FakeBackend, Script};
use thermocline_support::client::{Http2Client, RawClient, Response};
use thermocline_support::system::{Setup, System};

/// A running system with the deployment `m`, and its backend.
pub(crate) struct Dedicated {
    pub(crate) system: System,
    pub(crate) backend: FakeBackend,
}

impl Dedicated {
    /// One whose backend answers as `script` says.
    pub(crate) async fn new(script: impl Into<Script>) -> Self {
        Dedicated::with(script, json!({})).await
    }

    /// One with the fields `more` in its specification.
    pub(crate) async fn with(script: impl Into<Script>, more: Value) -> Self {
        Dedicated::within(Setup::new(), script, more).await
    }

    /// One on a clock that the test moves; the backend's time is real.
    pub(crate) async fn on(time: &ManualClock, script: impl Into<Script>, more: Value) -> Self {
        Dedicated::within(Setup::new().on(time), script, more).await
    }

    pub(crate) async fn within(setup: Setup, script: impl Into<Script>, more: Value) -> Self {
        let backend = FakeBackend::start(script).await;
        let system = setup.start().await;
        let mut spec = json!({ "name": "m", "tiers": { "dedicated": { "url": backend.url() } } });
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        system.admin.deploy(spec).await;
        Dedicated { system, backend }
    }

    pub(crate) async fn client(&self) -> RawClient {
        self.system.client().await
    }

    /// One GET and its answer, on a connection of its own.
    pub(crate) async fn get(&self, target: &str) -> Response {
        let mut client = self.client().await;
        client.request("GET", target).send().await.unwrap()
    }

    /// The answer to `head` as it is, and whether the connection then ended.
    pub(crate) async fn raw(&self, head: &str) -> (u16, bool) {
        let mut client = self.client().await;
        client.send_raw(head).await.unwrap();
        let answer = client.read_head().await.unwrap();
        client.read_body().await.unwrap();
        let ends = answer.headers.lists("connection", "close");
        (answer.status, ends && client.read_head().await.is_err())
    }

    /// A connection that speaks HTTP/2; its responses end with it.
    pub(crate) async fn h2(&self) -> Http2Client {
        Http2Client::connect(self.system.request).await.unwrap()
    }

    /// Waits until nothing is in flight and nobody waits.
    pub(crate) async fn rests(&self) {
        let quiet = |status: &Value| status["in_flight"] == 0 && status["waiting"] == 0;
        self.system.admin.wait_status("m", quiet).await;
    }

    /// Waits until `count` requests are in flight and `waiting` wait.
    pub(crate) async fn holds(&self, count: u64, waiting: u64) {
        let held = |status: &Value| status["in_flight"] == count && status["waiting"] == waiting;
        self.system.admin.wait_status("m", held).await;
    }

    /// How many requests ended in `outcome`.
    pub(crate) async fn outcomes(&self, outcome: &str) -> u64 {
        let metrics = self.system.admin.metrics().await;
        let wanted = format!("outcome=\"{outcome}\"");
        let samples = metrics.lines().filter(|line| {
            line.starts_with("thermocline_requests_total{") && line.contains(&wanted)
        });
        samples
            .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
            .sum()
    }
}

/// A request for HTTP/2 without a body.
pub(crate) fn h2_get(target: &str) -> http::Request<bytes::Bytes> {
    let uri = format!("http://router.test{target}");
    http::Request::get(uri).body(bytes::Bytes::new()).unwrap()
}

/// One request at a time, and `queue` that wait.
pub(crate) fn exclusive(queue: u32) -> Value {
    json!({ "concurrency": { "strategy": "exclusive", "queue": queue } })
}
