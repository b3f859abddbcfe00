use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use crate::{Deployment, InFlight};

/// Every deployment by each of its names. Immutable.
#[derive(Debug, Default)]
pub struct Snapshot {
    deployments: HashMap<Arc<str>, Arc<Deployment>>,
    aliases: HashMap<String, Arc<Deployment>>,
    hosts: HashMap<String, Arc<Deployment>>,
    base_domain: String,
}

impl Snapshot {
    /// The snapshot of `deployments`, reachable as `NAME.<base_domain>` too
    /// unless that is empty. A name wins over an alias.
    pub fn of(deployments: impl IntoIterator<Item = Arc<Deployment>>, base_domain: &str) -> Self {
        let mut snapshot = Snapshot {
            base_domain: base_domain.trim_matches('.').to_ascii_lowercase(),
            ..Snapshot::default()
        };
        for deployment in deployments {
            let config = deployment.config.load_full();
            for alias in &config.spec.routes.aliases {
                snapshot.aliases.insert(alias.clone(), deployment.clone());
            }
            for host in &config.spec.routes.hosts {
                snapshot.hosts.insert(host.clone(), deployment.clone());
            }
            snapshot
                .deployments
                .insert(deployment.name.clone(), deployment);
        }
        snapshot
    }

    /// The deployment of that name or alias.
    pub fn by_name(&self, name: &str) -> Option<&Arc<Deployment>> {
        self.deployments
            .get(name)
            .or_else(|| self.aliases.get(name))
    }

    /// The deployment of that Host header; case, port and a final dot do not matter.
    pub fn by_host(&self, host: &str) -> Option<&Arc<Deployment>> {
        if self.hosts.is_empty() && self.base_domain.is_empty() {
            return None;
        }
        let host = without_port(host)
            .trim_end_matches('.')
            .to_ascii_lowercase();
        self.hosts.get(&host).or_else(|| {
            let label = host.strip_suffix(&self.base_domain)?.strip_suffix('.')?;
            self.by_name(label)
        })
    }

    /// Every deployment.
    pub fn deployments(&self) -> impl Iterator<Item = &Arc<Deployment>> {
        self.deployments.values()
    }

    /// How many deployments there are.
    pub fn len(&self) -> usize {
        self.deployments.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.deployments.is_empty()
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

/// The snapshot in force, and what is in flight.
#[derive(Debug, Default)]
pub struct Table {
    snapshot: ArcSwap<Snapshot>,
    /// Requests that are on their way.
    pub in_flight: InFlight,
}

impl Table {
    /// The snapshot in force; hold it no longer than a request's beginning.
    pub fn load(&self) -> Guard<Arc<Snapshot>> {
        self.snapshot.load()
    }

    /// Puts `snapshot` in force.
    pub fn store(&self, snapshot: Snapshot) {
        self.snapshot.store(Arc::new(snapshot));
    }
}
