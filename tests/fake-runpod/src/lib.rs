//! A RunPod that costs nothing: REST v2, the job API, the pod proxy and
//! load-balancing endpoints, on loopback.
//!
//! It keeps its own truth of what exists and what that has cost, refuses what
//! the published schema refuses, and goes wrong in every way that it is told
//! to ([`Faults`]). Pods and workers answer true HTTP, each instance at a
//! loopback address of its own: `127.` and its id.

mod admin;
mod api;
mod catalog;
mod edge;
mod endpoints;
mod faults;
mod fleet;
mod jobs;
mod limits;
mod pods;
mod problem;
mod schema;
mod service;
mod settings;
mod worker;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::Value;
use thermocline_clock::{Clock, ManualClock};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use faults::{BodyFault, Faults, ListFault};
pub use settings::Settings;

use pods::Phase;
use service::Service;

/// Where a fake listens.
#[derive(Debug, Clone)]
pub struct Urls {
    /// The control API, in place of `https://api.runpod.io`.
    pub api: String,
    /// The job API, in place of `https://api.runpod.ai`.
    pub jobs: String,
    /// A pod's proxy, in place of `https://{id}-{port}.proxy.runpod.net`.
    pub pod: String,
    /// A load-balancing endpoint, in place of `https://{id}.api.runpod.ai`.
    pub endpoint: String,
}

/// A running fake; it ends when dropped.
pub struct FakeRunpod {
    /// Where it listens.
    pub urls: Urls,
    service: Arc<Service>,
    _end: DropGuard,
}

impl FakeRunpod {
    /// Starts one for the bearer of `key`, its control API at `listen`.
    ///
    /// # Errors
    /// When a port cannot be had.
    pub async fn start(
        listen: SocketAddr,
        key: &str,
        clock: Clock,
        settings: Settings,
    ) -> io::Result<Self> {
        let service = Service::new(clock, settings, key.to_owned());
        let end = CancellationToken::new();
        let control = TcpListener::bind(listen).await?;
        let jobs = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let urls = Urls {
            api: format!("http://{}", control.local_addr()?),
            jobs: format!("http://{}", jobs.local_addr()?),
            pod: "http://0x7f{id}:{port}".to_owned(),
            endpoint: format!("http://0x7f{{id}}:{}", edge::ENDPOINT_PORT),
        };
        let routes = admin::routes(service.clone()).merge(api::control(service.clone()));
        for (listener, routes) in [(control, routes), (jobs, api::jobs(service.clone()))] {
            let over = end.clone();
            tokio::spawn(async move {
                let served = axum::serve(listener, routes);
                over.run_until_cancelled(served.into_future()).await
            });
        }
        Ok(FakeRunpod {
            urls,
            service,
            _end: end.drop_guard(),
        })
    }

    /// A fake on any free port.
    ///
    /// # Errors
    /// When there is none.
    pub async fn anywhere(key: &str, clock: Clock, settings: Settings) -> io::Result<Self> {
        FakeRunpod::start((Ipv4Addr::LOCALHOST, 0).into(), key, clock, settings).await
    }

    /// Lets `POST /fake/advance/SECONDS` move `time`, the clock that it was
    /// started with.
    pub fn let_calls_move(&self, time: ManualClock) {
        let _once_is_enough = self.service.time.set(time);
    }

    /// Replaces what is to go wrong.
    pub fn set_faults(&self, faults: Faults) {
        self.service.set_faults(faults);
    }

    /// What exists and what it has cost: `pods` and `endpoints`, each with `id`,
    /// `name` and `usd`; `pods_made`, `jobs_made`, `usd_of_deleted`, `calls`.
    pub fn truth(&self) -> Value {
        self.service.truth()
    }

    /// The control API's calls so far, as `METHOD /path`.
    pub fn calls(&self) -> Vec<String> {
        self.service.lock().calls.clone()
    }

    /// F12: an instance ceases to exist without a trace; false when there is none.
    pub fn vanish(&self, id: &str) -> bool {
        self.service.vanish(id)
    }

    /// A pod's container exits; false when there is none.
    pub fn exit(&self, id: &str) -> bool {
        self.service.end_pod(id, Phase::Exited)
    }

    /// The platform lowers an endpoint's most workers; false when there is none.
    pub fn limit_endpoint(&self, id: &str, max: u32) -> bool {
        self.service.limit_endpoint(id, max)
    }

    /// F13: somebody else's pod of that name, in the same account; its id.
    ///
    /// # Panics
    /// When the fake refuses its own request.
    pub fn stranger(&self, name: &str) -> String {
        let gpu = serde_json::json!({ "id": "NVIDIA L4", "count": 1 });
        let body = serde_json::json!({ "name": name, "image": "theirs", "gpu": gpu });
        let pod = self.service.create_pod(&body).unwrap_or_default();
        pod["id"].as_str().unwrap_or_default().to_owned()
    }

    /// The statuses of the jobs of an endpoint.
    pub fn job_counts(&self, endpoint: &str) -> Value {
        let endpoint = self.service.endpoint(endpoint);
        endpoint.map_or(Value::Null, |it| self.service.job_counts(&it))
    }
}

impl Drop for FakeRunpod {
    fn drop(&mut self) {
        let mut state = self.service.lock();
        state.pods.values().for_each(|pod| pod.life.cancel());
        state.endpoints.values().for_each(|it| it.life.cancel());
        state.pods.clear();
        state.endpoints.clear();
    }
}
