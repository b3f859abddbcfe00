use std::time::Duration;

use crate::{Tier, TierSet};

/// The tiers that a deployment may use.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tiers {
    /// The user's own instance.
    pub dedicated: Option<DedicatedTier>,
    /// Containers on this machine.
    pub local: Option<LocalTier>,
    /// A provider's endpoint.
    pub serverless: Option<ServerlessTier>,
    /// Rented machines.
    pub pod: Option<PodTier>,
}

impl Tiers {
    /// The tiers that are there.
    pub fn set(&self) -> TierSet {
        [
            (Tier::Dedicated, self.dedicated.is_some()),
            (Tier::Local, self.local.is_some()),
            (Tier::Serverless, self.serverless.is_some()),
            (Tier::Pod, self.pod.is_some()),
        ]
        .into_iter()
        .filter_map(|(tier, there)| there.then_some(tier))
        .collect()
    }
}

/// Which Host header a backend sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostHeader {
    /// The client's.
    Keep,
    /// The backend's own address.
    Address,
}

/// The user's own instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DedicatedTier {
    /// Where it is: scheme, host and port.
    pub url: String,
    /// Which Host it sees.
    pub host: Option<HostHeader>,
}

/// Containers on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTier {
    /// The most containers.
    pub max_instances: u32,
    /// How long one stays without work.
    pub idle_timeout: Duration,
    /// The port on this machine; any free one when `None`.
    pub host_port: Option<u16>,
    /// Which Host it sees.
    pub host: Option<HostHeader>,
}

/// A provider's endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerlessTier {
    /// The provider's name in the server's configuration.
    pub provider: String,
    /// Acceptable GPUs; empty = any.
    pub gpu: Vec<String>,
    /// The most workers.
    pub max_workers: u32,
    /// How long a worker stays without work.
    pub idle_timeout: Duration,
    /// How long a request queues before another worker comes.
    pub queue_delay: Duration,
    /// Which Host it sees.
    pub host: Option<HostHeader>,
}

/// Rented machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodTier {
    /// The provider's name in the server's configuration.
    pub provider: String,
    /// Acceptable GPUs; empty = any.
    pub gpu: Vec<String>,
    /// Never fewer than these.
    pub min_instances: u32,
    /// Never more than these.
    pub max_instances: u32,
    /// How long one stays without work.
    pub idle_timeout: Duration,
    /// Which Host it sees.
    pub host: Option<HostHeader>,
}
