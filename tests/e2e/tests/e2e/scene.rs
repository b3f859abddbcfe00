//! One system on one cloud, on a clock that only the test moves.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thermocline_clock::{Clock, ManualClock};
use thermocline_policy::Moment;
use thermocline_support::backend::{Reply, Script};
use thermocline_support::client::Response;
use thermocline_support::provider::{Call, FakeProvider};
use thermocline_support::system::{Setup, System, TOKEN, manual_clock};
use tokio::task::JoinHandle;

/// How long a test waits in real time for what must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A provider's call that takes longer in real time is held up by the test.
const LONGEST_CALL: Duration = Duration::from_millis(100);

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A running system, its cloud `toy` and its time.
pub(crate) struct Scene {
    pub(crate) time: ManualClock,
    pub(crate) cloud: FakeProvider,
    pub(crate) system: System,
}

impl Scene {
    /// A system whose instances answer as `script` says.
    pub(crate) async fn new(script: impl Into<Script>) -> Scene {
        let script = script.into();
        Scene::made(move |_| script.clone()).await
    }

    /// A system whose instances each get the script that `make` makes.
    pub(crate) async fn made(make: impl Fn(&Clock) -> Script + Send + Sync + 'static) -> Scene {
        let time = manual_clock();
        let clock = time.clock();
        let cloud = FakeProvider::new(&time.clock(), move |_| make(&clock));
        let setup = Setup::new().on(&time).provider("toy", cloud.clone());
        let system = setup.start().await;
        Scene {
            time,
            cloud,
            system,
        }
    }

    /// The same with another provider beside its cloud.
    pub(crate) async fn beside(self, name: &str, provider: FakeProvider) -> Scene {
        let setup = self.system.crash().provider(name, provider);
        Scene {
            system: setup.start().await,
            ..self
        }
    }

    /// `kill -9`, `after` of silence, and a new process on the same store.
    pub(crate) async fn crash(self, after: Duration) -> Scene {
        let setup = self.system.crash();
        self.time.advance(after);
        Scene {
            system: setup.start().await,
            time: self.time,
            cloud: self.cloud,
        }
    }

    /// Time since the scene began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.time.now().since(Moment::ORIGIN)
    }

    /// Moves the time on and waits until the loops have seen it.
    pub(crate) async fn step(&self, by: Duration) {
        self.time.advance(by);
        self.settle().await;
        breathe(1).await;
    }

    /// `span` passes, second by second.
    pub(crate) async fn pass(&self, span: Duration) {
        self.pass_in(span, SECOND).await;
    }

    /// `span` passes in steps of `step`.
    pub(crate) async fn pass_in(&self, span: Duration, step: Duration) {
        let end = self.time.now() + span;
        while self.time.now() < end {
            self.step(step.min(self.time.now().until(end))).await;
        }
    }

    /// Waits until every look that the time asked for has been taken.
    pub(crate) async fn settle(&self) {
        let began = real_now();
        loop {
            let metrics = self.system.admin.metrics().await;
            let age = sample(&metrics, "thermocline_tick_age_seconds");
            let pending = sample(&metrics, "thermocline_passes_pending");
            let busy = sample(&metrics, "thermocline_instances_worked_on") > 0.0;
            // What a provider's call holds up may last as long as the test wants.
            if age < 1.0 && pending == 0.0 && (!busy || began.elapsed() > LONGEST_CALL) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "the loops do not follow");
            breathe(1).await;
        }
    }

    /// Lets time pass, `step` by `step`, until `holds`.
    pub(crate) async fn until(&self, step: Duration, holds: impl AsyncFn() -> bool) {
        let began = real_now();
        while !holds().await {
            assert!(began.elapsed() < PATIENCE, "it never comes true");
            self.step(step).await;
            breathe(10).await;
        }
    }

    /// Lets time pass until `m` is in `state`; its status then.
    pub(crate) async fn until_state(&self, state: &str) -> Value {
        let there = async || self.status().await["state"] == state;
        self.until(SECOND / 10, there).await;
        self.status().await
    }

    /// Lets time pass until the cloud has exactly `live` instances.
    pub(crate) async fn until_live(&self, live: usize) {
        self.until(SECOND, async || self.cloud.truth().live.len() == live)
            .await;
    }

    /// Lets time pass, `step` by `step`, until a request is answered.
    pub(crate) async fn answered(&self, step: Duration, request: Sent) -> Response {
        self.until(step, async || request.is_finished()).await;
        request.await.unwrap()
    }

    /// Creates the deployment `m` of `image` with `tiers` and what `more` says.
    pub(crate) async fn deploy(&self, tiers: Value, more: Value) {
        let mut spec = json!({ "name": "m", "image": "i:1", "tiers": tiers });
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        self.system.admin.deploy(spec).await;
    }

    /// One request to `m` and its answer; no time passes.
    pub(crate) async fn get(&self) -> Response {
        let mut client = self.system.client().await;
        client.request("GET", "/d/m/x").send().await.unwrap()
    }

    /// One request to `m` that goes on while the test does other things.
    pub(crate) async fn send(&self, timeout: &str) -> Sent {
        let mut client = self.system.client().await;
        let timeout = timeout.to_owned();
        tokio::spawn(async move {
            let request = client.request("GET", "/d/m/x");
            let request = request.header("x-thermocline-timeout", timeout);
            request.send().await.unwrap()
        })
    }

    pub(crate) async fn status(&self) -> Value {
        self.system.admin.status("m").await
    }

    pub(crate) async fn transitions(&self) -> Vec<String> {
        self.system.admin.transitions("m").await
    }

    /// The call `method path` of the management API, without a body.
    pub(crate) async fn admin(&self, method: reqwest::Method, path: &str) -> (u16, Value) {
        let (status, body) = self.system.admin.call(method, path, None).await;
        (status.as_u16(), body)
    }

    /// When the cloud was first asked to delete something.
    pub(crate) fn first_delete(&self) -> Option<Moment> {
        self.cloud.truth().times(Call::Delete).next()
    }
}

/// A request on its way.
pub(crate) type Sent = JoinHandle<Response>;

/// Serverless and a pod with these thresholds.
pub(crate) fn both_tiers() -> Value {
    json!({
        "serverless": { "provider": "toy" },
        "pod": { "provider": "toy", "max_instances": 1, "idle_timeout": "10m" },
    })
}

/// Promote at 2, demote at 1 requests a second.
pub(crate) fn two_and_one() -> Value {
    json!({ "policy": { "promote_rps": 2, "demote_rps": 1 } })
}

pub(crate) fn pod(idle_timeout: &str) -> Value {
    json!({ "pod": { "provider": "toy", "idle_timeout": idle_timeout } })
}

/// The value of the first sample of `name`; not a number when there is none.
pub(crate) fn sample(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|rest| rest.rsplit(' ').next()?.parse().ok());
    value.unwrap_or(f64::NAN)
}

/// `Bearer` and the token of every system under test.
pub(crate) fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

pub(crate) fn ok() -> Reply {
    Reply::ok("hello")
}

/// Sockets stay real while the clock does not: what the last step set off gets
/// a moment, so that no deadline passes on the test's clock alone.
#[allow(clippy::disallowed_methods)]
pub(crate) async fn breathe(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

#[allow(clippy::disallowed_methods)] // bounds a wait in real time
pub(crate) fn real_now() -> Instant {
    Instant::now()
}
