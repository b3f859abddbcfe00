//! What the request plane is told of a deployment's instances.

use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use thermocline_policy::{Brake, HostHeader, InstanceState, LocalFit, PodState, Tier, TierMap};
use thermocline_provider::{Address, Provider};
use thermocline_table::{Backend, Capacity, Pool, StartFailed, Target};
use url::Url;

use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::instance::Instance;

impl ControlPlane {
    /// A start failed: the request plane knows before those who wait are told,
    /// so that whoever decides again sees why.
    pub(crate) fn start_failed(&self, deployment: &Controlled, tier: Tier, error: StartFailed) {
        deployment.note_failure(tier, error, self.clock.now());
        self.publish(deployment);
        deployment.bump();
    }

    /// Puts the deployment's capacity in force.
    pub(crate) fn publish(&self, deployment: &Controlled) {
        let publishing = deployment.publishing.lock();
        let _one = publishing.unwrap_or_else(|e| e.into_inner());
        self.refresh_dedicated(deployment);
        let instances = deployment.instances();
        let brakes = self.brake(deployment, &instances);
        let pools = TierMap::from_fn(|tier| {
            let limit = deployment.with_spec(|spec| spec.limit_per_instance(tier));
            let mut backends: Vec<Arc<Backend>> = match tier {
                Tier::Dedicated => deployment.dedicated().into_iter().collect(),
                // The endpoint stays, since it costs nothing, but gets no work.
                Tier::Serverless if brakes[tier] == Brake::Stop => Vec::new(),
                _ => serving(&instances, tier).collect(),
            };
            backends
                .iter_mut()
                .for_each(|backend| backend.set_limit(limit));
            Pool::of(backends)
        });
        deployment.live.set_capacity(Capacity {
            local: self.local_fit(deployment, &instances),
            pod: self.pod_state(deployment, &instances),
            idled: deployment
                .idle_stop()
                .filter(|stop| stop.tier == Tier::Pod)
                .map(|stop| stop.arrivals),
            pools,
            brakes,
        });
    }

    fn refresh_dedicated(&self, deployment: &Controlled) {
        let wanted = deployment.with_spec(|spec| {
            let tier = spec.tiers.dedicated.as_ref()?;
            target(&tier.url, tier.host.unwrap_or(HostHeader::Keep), &[], false)
        });
        let there = deployment.dedicated();
        if there.as_ref().map(|backend| &backend.target) == wanted.as_ref() {
            return;
        }
        let limit = deployment.with_spec(|spec| spec.limit_per_instance(Tier::Dedicated));
        let backend = wanted.map(|t| Arc::new(Backend::new(None, Tier::Dedicated, t, limit)));
        deployment.set_dedicated(backend);
    }

    fn local_fit(&self, deployment: &Controlled, instances: &[Arc<Instance>]) -> LocalFit {
        if !deployment.with_spec(|spec| spec.tiers.local.is_some()) {
            return LocalFit::NoMemory;
        }
        if any(instances, Tier::Local, |s| s.is_starting() || s.is_ready()) {
            return LocalFit::Fits;
        }
        if self
            .docker()
            .is_none_or(|d| d.condition().last_error.is_some())
        {
            return LocalFit::NoDaemon;
        }
        if deployment
            .backing_off(Tier::Local, self.clock.now())
            .is_some()
        {
            return LocalFit::BackingOff;
        }
        let now = self.clock.now();
        match deployment.with_spec(|spec| self.machine.fits(&spec.name, &spec.resources, now)) {
            true => LocalFit::Fits,
            false => LocalFit::NoMemory,
        }
    }

    fn pod_state(&self, deployment: &Controlled, instances: &[Arc<Instance>]) -> PodState {
        if any(instances, Tier::Pod, InstanceState::is_ready) {
            PodState::Warm
        } else if any(instances, Tier::Pod, InstanceState::is_starting) {
            PodState::Booting
        } else if deployment
            .backing_off(Tier::Pod, self.clock.now())
            .is_some()
        {
            PodState::BackingOff
        } else if deployment.is_requested(Tier::Pod) {
            // Its intent is about to be written: nobody may decide that there is none.
            PodState::Booting
        } else {
            PodState::Absent
        }
    }
}

pub(crate) fn any(
    instances: &[Arc<Instance>],
    tier: Tier,
    is: impl Fn(&InstanceState) -> bool,
) -> bool {
    instances.iter().any(|i| i.tier == tier && is(&i.state()))
}

fn serving(instances: &[Arc<Instance>], tier: Tier) -> impl Iterator<Item = Arc<Backend>> {
    instances
        .iter()
        .filter(move |i| i.tier == tier && i.state().is_ready())
        .filter_map(|i| i.backend())
}

/// The backend of an instance at `address`.
pub(crate) fn backend(instance: &Instance, address: &Address, host: HostHeader) -> Option<Backend> {
    let headers: Vec<(&String, &String)> = address.headers.iter().collect();
    let mut target = target(&address.url, host, &headers, address.remaining)?;
    let voucher = instance.provider.adapter.voucher();
    target.voucher = voucher.and_then(|text| HeaderValue::from_str(text).ok());
    Some(Backend::new(
        Some(instance.id.clone()),
        instance.tier,
        target,
        None,
    ))
}

fn target(
    url: &str,
    host_header: HostHeader,
    headers: &[(&String, &String)],
    remaining: bool,
) -> Option<Target> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    let headers = headers
        .iter()
        .filter_map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, HeaderValue::from_str(value).ok()?))
        })
        .collect();
    Some(Target {
        tls: url.scheme() == "https",
        host,
        port: url.port_or_known_default()?,
        host_header,
        headers,
        remaining,
        voucher: None,
    })
}
