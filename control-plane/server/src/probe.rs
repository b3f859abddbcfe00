//! Asks an instance whether it is ready or alive.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use thermocline_policy::outbound::is_never_reached;
use thermocline_policy::{Live, Ready};
use thermocline_provider::Address;
use tokio::net::lookup_host;

const PATIENCE: Duration = Duration::from_secs(5);

/// What a readiness probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    /// It answers that it is still loading.
    Initializing,
    NotReady,
}

/// How an instance is asked.
#[async_trait]
pub trait Probe: Send + Sync {
    /// The status that `GET path` at `address` is answered with; `None` without
    /// an answer. Bounded in time by who implements it.
    async fn status(&self, address: &Address, path: &str) -> Option<u16>;
}

/// Asks over HTTP, at most five seconds; follows no redirect.
pub struct HttpProbe(reqwest::Client);

impl HttpProbe {
    /// The one client of all probes.
    pub fn new() -> Self {
        let client = reqwest::Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .timeout(PATIENCE)
            .dns_resolver(Arc::new(Reachable))
            .pool_max_idle_per_host(0)
            .build();
        HttpProbe(client.unwrap_or_default())
    }
}

/// Looks names up, and leaves out what is never reached.
struct Reachable;

impl Resolve for Reachable {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = lookup_host((name.as_str(), 0)).await?;
            let reachable: Vec<_> = found.filter(|it| !is_never_reached(it.ip())).collect();
            let addresses: Addrs = Box::new(reachable.into_iter());
            Ok(addresses)
        })
    }
}

impl Default for HttpProbe {
    fn default() -> Self {
        HttpProbe::new()
    }
}

#[async_trait]
impl Probe for HttpProbe {
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

/// What the answers to probes mean.
pub(crate) struct Probing(pub(crate) Arc<dyn Probe>);

impl Probing {
    /// Whether the instance at `address` is ready.
    pub(crate) async fn readiness(&self, address: &Address, ready: &Ready) -> Readiness {
        match self.0.status(address, &ready.path).await {
            None => Readiness::NotReady,
            Some(status) if ready.initializing.contains(&status) => Readiness::Initializing,
            Some(status) if ready.status.is_empty() && status < 500 => Readiness::Ready,
            Some(status) if ready.status.contains(&status) => Readiness::Ready,
            Some(_) => Readiness::NotReady,
        }
    }

    /// Whether something is at `address` that says more than that nothing is:
    /// a proxy answers for what is gone, too.
    pub(crate) async fn is_there(&self, address: &Address, ready: &Ready) -> bool {
        let status = self.0.status(address, &ready.path).await;
        status.is_some_and(|status| {
            let named = ready.status.contains(&status) || ready.initializing.contains(&status);
            named || (200..400).contains(&status)
        })
    }

    /// Whether the instance at `address` is alive.
    pub(crate) async fn is_alive(&self, address: &Address, live: &Live) -> bool {
        let status = self.0.status(address, &live.path).await;
        status.is_some_and(|status| (200..400).contains(&status))
    }
}
