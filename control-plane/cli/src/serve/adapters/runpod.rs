use std::net::SocketAddr;
use std::time::Duration;

use thermocline_provider::cloud::Keyed;
use thermocline_runpod::{Account, Cloud, EndpointType, RunpodProvider, Settings};
use thermocline_wire::reader::{Object, text};

use super::Surroundings;
use super::accounts::Accounts;
use super::key::{KeySource, url};
use crate::failure::Failure;

/// The variable that holds the key when nothing else is said.
pub(super) const KEY: &str = "RUNPOD_API_KEY";
/// The control API, unless the configuration says otherwise.
const API: &str = "https://api.runpod.io";
/// RunPod takes no shorter limit of a job.
const SHORTEST_JOB: Duration = Duration::from_secs(5);

/// Keys of `kind = "runpod"`.
#[derive(Debug, Clone)]
pub(crate) struct RunpodConfig {
    key: KeySource,
    api_url: String,
    settings: Settings,
}

impl RunpodConfig {
    pub(super) fn read(section: &Object<'_>) -> Self {
        RunpodConfig {
            key: KeySource::read(section, KEY),
            api_url: section
                .read("api_url", |value| url(value, &[]))
                .unwrap_or_else(|| API.to_owned()),
            settings: settings(section),
        }
    }
}

fn settings(section: &Object<'_>) -> Settings {
    let usual = Settings::default();
    let place = |key, places: &[&str], usual| {
        let given = section.read(key, |value| url(value, places));
        given.unwrap_or(usual)
    };
    let types = [
        ("load_balancer", EndpointType::LoadBalancer),
        ("queue", EndpointType::Queue),
    ];
    let clouds = [("secure", Cloud::Secure), ("community", Cloud::Community)];
    let whole = |key, most, usual| section.whole(key, 1..=most).unwrap_or(usual);
    let settings = Settings {
        job_url: place("job_url", &[], usual.job_url),
        pod_url: place("pod_url", &["{id}", "{port}"], usual.pod_url),
        endpoint_url: place("endpoint_url", &["{id}"], usual.endpoint_url),
        endpoint_type: section
            .choice("endpoint_type", &types)
            .unwrap_or(usual.endpoint_type),
        cloud: section.choice("cloud", &clouds).unwrap_or(usual.cloud),
        data_centers: section.texts("data_centers").unwrap_or_default(),
        disk_gb: whole("disk_gb", 100_000, usual.disk_gb),
        requests_per_worker: whole("requests_per_worker", 10_000, usual.requests_per_worker),
        job_timeout: section.duration("job_timeout").unwrap_or(usual.job_timeout),
        job_listen: section
            .read("job_listen", loopback)
            .unwrap_or(usual.job_listen),
    };
    if settings.job_timeout < SHORTEST_JOB {
        section.wrong("job_timeout", "must be 5s or more");
    }
    settings
}

fn loopback(value: &serde_json::Value) -> Result<SocketAddr, String> {
    let address: Option<SocketAddr> = text(value)?.parse().ok();
    address
        .filter(|address| address.ip().is_loopback())
        .ok_or_else(|| "must be a loopback address with a port, as 127.0.0.1:8090".to_owned())
}

/// The provider `name`.
pub(super) async fn adapter(
    name: &str,
    config: &RunpodConfig,
    accounts: &mut Accounts<Account>,
    with: &Surroundings<'_>,
) -> Result<Keyed<RunpodProvider>, Failure> {
    let mistake = |error| Failure::mistake(format!("providers.{name}: {error}"));
    let (key, url) = (config.key.key(name, with.redaction)?, &config.api_url);
    let account = accounts.get(key, url, |key| Account::new(key, url, with.clock.clone()));
    let account = account.map_err(mistake)?;
    let provider = RunpodProvider::connect(account, config.settings.clone()).await;
    Ok(Keyed::new(
        provider.map_err(mistake)?,
        config.key.origin(name),
    ))
}
