use std::time::Duration;

use super::{Spec, Strategy};
use crate::{Tier, TierSet};

/// The name of the provider that is the shared fleet; no other may have it.
pub const FLEET: &str = "fleet";

/// The header by which an address that asks for it is told the milliseconds
/// that are left of a request's deadline.
pub const REMAINING_HEADER: &str = "x-thermocline-remaining-ms";

/// Beside [`REMAINING_HEADER`]: the milliseconds that are left for a start.
pub const COLD_HEADER: &str = "x-thermocline-cold-remaining-ms";

/// Beside [`REMAINING_HEADER`]: until when the head of the response is waited
/// for, milliseconds since 1970.
pub const HEAD_BY_HEADER: &str = "x-thermocline-head-by";

/// Beside [`REMAINING_HEADER`]: until when all of the response is waited for,
/// milliseconds since 1970.
pub const WHOLE_BY_HEADER: &str = "x-thermocline-whole-by";

/// The header by which a provider within this process vouches that an answer is
/// its own and no model's; taken off before anybody else reads it.
pub const VOUCHER_HEADER: &str = "x-thermocline-voucher";

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

impl Spec {
    /// The most instances that `tier` may have; `None` for a tier it lacks or
    /// that is not ours to start.
    pub fn max_instances(&self, tier: Tier) -> Option<u32> {
        match tier {
            Tier::Dedicated => None,
            Tier::Local => self.tiers.local.as_ref().map(|t| t.max_instances),
            Tier::Serverless => self.tiers.serverless.as_ref().map(|_| 1),
            Tier::Pod => self.tiers.pod.as_ref().map(|t| t.max_instances),
        }
    }

    /// How long `tier` stays without work.
    pub fn idle_timeout(&self, tier: Tier) -> Option<Duration> {
        match tier {
            Tier::Dedicated => None,
            Tier::Local => self.tiers.local.as_ref().map(|t| t.idle_timeout),
            Tier::Serverless => self.tiers.serverless.as_ref().map(|t| t.idle_timeout),
            Tier::Pod => self.tiers.pod.as_ref().map(|t| t.idle_timeout),
        }
    }

    /// The instances that `tier` never goes below.
    pub fn min_instances(&self, tier: Tier) -> u32 {
        match tier {
            Tier::Pod => self.tiers.pod.as_ref().map_or(0, |pod| pod.min_instances),
            // Its queue is what tells the workers to hold the model.
            Tier::Serverless => u32::from(self.fleet().is_some_and(|t| t.fleet.pinned)),
            Tier::Dedicated | Tier::Local => 0,
        }
    }

    /// Which Host header `tier`'s backend sees; `None` = as its provider's edge needs it.
    pub fn host_header(&self, tier: Tier) -> Option<HostHeader> {
        match tier {
            Tier::Dedicated => self.tiers.dedicated.as_ref()?.host,
            Tier::Local => self.tiers.local.as_ref()?.host,
            Tier::Serverless => self.tiers.serverless.as_ref()?.host,
            Tier::Pod => self.tiers.pod.as_ref()?.host,
        }
    }

    /// The serverless tier, where the shared fleet is what gives it.
    pub fn fleet(&self) -> Option<&ServerlessTier> {
        let tier = self.tiers.serverless.as_ref();
        tier.filter(|tier| tier.provider == FLEET)
    }

    /// The most requests at a time over all instances; `None` = no limit. On
    /// the shared fleet the pool's members count once for each worker.
    pub fn limit(&self) -> Option<u32> {
        let pool = &self.concurrency;
        match self.fleet() {
            None => pool.limit(),
            Some(_) if pool.strategy == Strategy::Shared => pool.limit(),
            Some(fleet) => {
                let members = pool.workers.saturating_mul(fleet.max_workers);
                Some(
                    pool.max_concurrency
                        .map_or(members, |most| most.min(members)),
                )
            }
        }
    }

    /// The most requests at a time on one instance of `tier`; `None` = no
    /// limit of its own. A queue of the shared fleet has none.
    pub fn limit_per_instance(&self, tier: Tier) -> Option<u32> {
        match tier {
            Tier::Serverless if self.fleet().is_some() => None,
            _ => self.concurrency.limit_per_instance(),
        }
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
    /// What the shared fleet alone heeds.
    pub fleet: FleetOptions,
}

/// What the shared fleet alone heeds of a serverless tier.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FleetOptions {
    /// Whether every worker holds the model always.
    pub pinned: bool,
    /// Whether its work yields to work that is not so.
    pub preemptible: bool,
    /// Which workers it is for; those with a GPU when `None`.
    pub shape: Option<Shape>,
    /// Attempts before a request is given up, 1 or more; 3 when `None`.
    pub max_attempts: Option<u32>,
}

/// Which workers of the shared fleet a deployment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Shape {
    /// Those with a GPU.
    #[default]
    Gpu,
    /// Those without one.
    Cpu,
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
