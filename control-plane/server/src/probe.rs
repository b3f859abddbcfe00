//! Asks an instance whether it is ready or alive.

use std::time::Duration;

use reqwest::redirect::Policy;
use thermocline_policy::{Live, Ready};
use thermocline_provider::Address;

const PATIENCE: Duration = Duration::from_secs(5);

/// What a readiness probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    /// It answers that it is still loading.
    Initializing,
    NotReady,
}

/// The one client of all probes.
pub(crate) struct Probe(reqwest::Client);

impl Probe {
    pub(crate) fn new() -> Self {
        let client = reqwest::Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .timeout(PATIENCE)
            .pool_max_idle_per_host(0)
            .build();
        Probe(client.unwrap_or_default())
    }

    /// Whether the instance at `address` is ready.
    pub(crate) async fn readiness(&self, address: &Address, ready: &Ready) -> Readiness {
        match self.status(address, &ready.path).await {
            None => Readiness::NotReady,
            Some(status) if ready.initializing.contains(&status) => Readiness::Initializing,
            Some(status) if ready.status.is_empty() && status < 500 => Readiness::Ready,
            Some(status) if ready.status.contains(&status) => Readiness::Ready,
            Some(_) => Readiness::NotReady,
        }
    }

    /// Whether the instance at `address` is alive.
    pub(crate) async fn is_alive(&self, address: &Address, live: &Live) -> bool {
        let status = self.status(address, &live.path).await;
        status.is_some_and(|status| (200..400).contains(&status))
    }

    async fn status(&self, address: &Address, path: &str) -> Option<u16> {
        let mut request = self
            .0
            .get(format!("{}{path}", address.url.trim_end_matches('/')));
        for (name, value) in &address.headers {
            request = request.header(name, value);
        }
        Some(request.send().await.ok()?.status().as_u16())
    }
}
