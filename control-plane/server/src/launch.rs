//! What is asked of a provider to start an instance of a specification.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use thermocline_policy::{EnvValue, HostHeader, Load, Selection, Shape, Spec, Strategy, Tier};
use thermocline_provider::{FleetRequest, InstanceRequest, ProviderError, ProviderErrorKind};
use thermocline_wire::fleet::Terms;

use crate::deployment::Controlled;
use crate::provider::name_for;
use crate::secrets::{Secrets, named, no_such_secret};

const MIB: u64 = 1 << 20;

/// `request` with the values of the secrets that the deployment names: they go
/// to the provider and nowhere else.
///
/// # Errors
/// `invalid` where one is not there.
pub(crate) fn with_secrets(
    request: &InstanceRequest,
    deployment: &Controlled,
    secrets: &Secrets,
) -> Result<InstanceRequest, ProviderError> {
    let mut request = request.clone();
    deployment.with_spec(|spec| {
        for (variable, name) in named(spec) {
            let value = secrets.value(name).ok_or_else(|| {
                let detail = format!("env.{variable}.secret: {}", no_such_secret(name));
                ProviderError::new(ProviderErrorKind::Invalid, detail)
            })?;
            request.env.insert(variable.to_owned(), value.to_string());
        }
        Ok(request)
    })
}

/// The request for `tier`, without secrets; the owner is filled in when it is sent.
pub(crate) fn request(spec: &Spec, tier: Tier, owner: &str) -> InstanceRequest {
    let serverless = spec.tiers.serverless.as_ref();
    InstanceRequest {
        owner: owner.to_owned(),
        deployment: spec.name.clone(),
        tier,
        offer: None,
        image: spec.image.clone().unwrap_or_default(),
        command: spec.command.clone(),
        args: spec.args.clone(),
        env: spec.env.iter().filter_map(plain).collect(),
        port: spec.port,
        vram_mib: spec.resources.vram.div_ceil(MIB),
        gpus: spec.resources.gpus,
        gpu: gpus(spec, tier).to_vec(),
        ready_path: spec.health.ready.path.clone(),
        idle_timeout_s: spec.idle_timeout(tier).map_or(0, |d| d.as_secs()),
        max_workers: serverless.map_or(0, |t| t.max_workers),
        queue_delay_s: serverless.map_or(0, |t| t.queue_delay.as_secs()),
        cpus: spec.resources.cpus,
        memory_mib: spec.resources.memory.div_ceil(MIB),
        max_lifetime_s: 0,
        devices: Vec::new(),
        host_port: spec
            .tiers
            .local
            .as_ref()
            .filter(|_| tier == Tier::Local)
            .and_then(|t| t.host_port),
        fleet: (tier == Tier::Serverless)
            .then(|| fleet_request(spec))
            .flatten(),
    }
}

/// What the shared fleet must know, where it is the one that is asked.
pub(crate) fn fleet_request(spec: &Spec) -> Option<FleetRequest> {
    let tier = spec.fleet()?;
    let pool = &spec.concurrency;
    let shape = tier.fleet.shape.unwrap_or_default();
    let memory = match shape {
        Shape::Cpu => spec.resources.memory,
        Shape::Gpu => spec.resources.vram,
    };
    Some(FleetRequest {
        start_timeout_ms: u64::try_from(spec.health.start_timeout.as_millis()).unwrap_or(u64::MAX),
        ready_status: spec.health.ready.status.clone(),
        terms: Terms {
            memory_mib: memory.div_ceil(MIB),
            gpus: spec.resources.gpus,
            max_workers: tier.max_workers,
            pinned: tier.fleet.pinned,
            shape: shape.into(),
            preemptible: tier.fleet.preemptible,
            idle_timeout_s: tier.idle_timeout.as_secs(),
            max_concurrency: pool.max_concurrency.unwrap_or(0),
            members: pool.workers.max(1),
            exclusive: pool.strategy == Strategy::Exclusive,
            per_worker: pool.load == Load::PerWorker,
            least_loaded: pool.selection == Selection::LeastLoaded,
            restart_on_error: pool.restart_on_error,
            max_attempts: tier
                .fleet
                .max_attempts
                .unwrap_or(Terms::default().max_attempts),
        },
    })
}

/// The GPUs that `tier` may have, best first; any when empty.
pub(crate) fn gpus(spec: &Spec, tier: Tier) -> &[String] {
    let gpus = match tier {
        Tier::Serverless => spec.tiers.serverless.as_ref().map(|t| &t.gpu),
        Tier::Pod => spec.tiers.pod.as_ref().map(|t| &t.gpu),
        Tier::Dedicated | Tier::Local => None,
    };
    gpus.map_or(&[], Vec::as_slice)
}

fn plain((key, value): (&String, &EnvValue)) -> Option<(String, String)> {
    match value {
        EnvValue::Plain(text) => Some((key.clone(), text.clone())),
        EnvValue::Secret(_) => None,
    }
}

/// What an instance of `tier` is started from, as one text: equal exactly when
/// an instance need not be replaced. A provider that `resizes` changes in place how
/// many workers an endpoint may have.
pub(crate) fn fingerprint(spec: &Spec, tier: Tier, resizes: bool) -> String {
    let mut request = request(spec, tier, "");
    let is_endpoint = tier == Tier::Serverless;
    if !is_endpoint {
        // We stop idle instances ourselves: a new timeout replaces nothing.
        (request.idle_timeout_s, request.queue_delay_s) = (0, 0);
    }
    if !is_endpoint || resizes {
        request.max_workers = 0;
    }
    digest(spec, tier, request)
}

/// The same as it was while all instances held what is an endpoint's alone.
pub(crate) fn former_fingerprint(spec: &Spec, tier: Tier) -> String {
    let mut request = request(spec, tier, "");
    if tier != Tier::Serverless {
        request.idle_timeout_s = 0;
    }
    digest(spec, tier, request)
}

fn digest(spec: &Spec, tier: Tier, mut request: InstanceRequest) -> String {
    let provider = name_for(spec, tier).unwrap_or_default();
    // Its text is older than the request's own list, and stays as it was.
    request.gpu.clear();
    let gpus = match tier {
        Tier::Serverless | Tier::Pod => Some(gpus(spec, tier).join(",")),
        Tier::Dedicated | Tier::Local => None,
    };
    // Secrets by their names alone: a new value replaces nothing.
    let secrets: Option<BTreeMap<&str, &str>> =
        Some(named(spec).collect()).filter(|secrets: &BTreeMap<_, _>| !secrets.is_empty());
    // A backend keeps the Host rule that it was made with.
    let keeps_host = spec.host_header(tier).map(|host| host == HostHeader::Keep);
    let mut made_of = vec![
        json!(provider),
        json!(gpus),
        json!(keeps_host),
        json!(request),
    ];
    made_of.extend(secrets.map(|secrets| json!(secrets)));
    let text = Value::Array(made_of).to_string();
    Sha256::digest(text.as_bytes())[..12]
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use thermocline_policy::{FleetOptions, PodTier, ServerlessTier};

    use super::*;

    fn spec() -> Spec {
        let mut spec = Spec::named("m");
        spec.image = Some("i:1".into());
        spec.tiers.pod = Some(PodTier {
            provider: "toy".into(),
            gpu: vec![],
            min_instances: 0,
            max_instances: 1,
            idle_timeout: Duration::from_secs(600),
            host: None,
        });
        spec
    }

    fn with_an_endpoint() -> Spec {
        let mut spec = spec();
        spec.tiers.serverless = Some(ServerlessTier {
            provider: "toy".into(),
            gpu: vec![],
            max_workers: 3,
            idle_timeout: Duration::from_secs(30),
            queue_delay: Duration::from_secs(4),
            host: None,
            fleet: FleetOptions::default(),
        });
        spec
    }

    #[test]
    fn b37_only_what_an_instance_is_made_of_replaces_it() {
        let before = fingerprint(&spec(), Tier::Pod, false);
        let mut thresholds = spec();
        thresholds.policy.promote_rps = Some(3.0);
        thresholds.tiers.pod.as_mut().unwrap().idle_timeout = Duration::from_secs(60);
        assert_eq!(fingerprint(&thresholds, Tier::Pod, false), before);
        let mut image = spec();
        image.image = Some("i:2".into());
        assert_ne!(fingerprint(&image, Tier::Pod, false), before);
    }

    #[test]
    fn what_is_an_endpoints_replaces_no_pod() {
        let before = with_an_endpoint();
        let mut after = with_an_endpoint();
        let endpoint = after.tiers.serverless.as_mut().unwrap();
        (endpoint.max_workers, endpoint.queue_delay) = (5, Duration::from_secs(9));
        let of = |spec, tier| fingerprint(spec, tier, true);
        assert_eq!(of(&before, Tier::Pod), of(&after, Tier::Pod));
        assert_ne!(of(&before, Tier::Serverless), of(&after, Tier::Serverless));
    }

    #[test]
    fn another_number_of_workers_needs_another_endpoint_only_where_it_cannot_be_changed() {
        let before = with_an_endpoint();
        let mut after = with_an_endpoint();
        after.tiers.serverless.as_mut().unwrap().max_workers = 5;
        let of = |spec, resizes| fingerprint(spec, Tier::Serverless, resizes);
        assert_eq!(of(&before, true), of(&after, true));
        assert_ne!(of(&before, false), of(&after, false));
    }

    /// The one that rows of former servers carry.
    #[test]
    fn the_former_fingerprint_stays_as_it_was() {
        let former = former_fingerprint(&with_an_endpoint(), Tier::Pod);
        assert_eq!(former, "94ecca63531bb89b611f7ffc");
    }
}
