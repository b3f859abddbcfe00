use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use thermocline_wire::reader::{Object, text, whole};

use super::providers::finish;

/// The variable that holds the key when nothing else is said.
const KEY: &str = "RUNPOD_API_KEY";

/// Where a key is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// An environment variable.
    Env(String),
    /// A file.
    File(PathBuf),
}

/// Keys of `kind = "runpod"`; what is `None` is as the adapter has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunpodConfig {
    /// Where the account's key is.
    pub key: KeySource,
    /// The control API.
    pub api_url: Option<String>,
    /// The job API.
    pub job_url: Option<String>,
    /// A pod; holds `{id}` and `{port}`.
    pub pod_url: Option<String>,
    /// A load-balancing endpoint; holds `{id}`.
    pub endpoint_url: Option<String>,
    /// Whether new endpoints are queues.
    pub queue: bool,
    /// Whether pods are rented on other people's machines.
    pub community: bool,
    /// Acceptable data centres; any when empty.
    pub data_centers: Vec<String>,
    /// Disk of an instance, GB, 1 or more.
    pub disk_gb: Option<u32>,
    /// Requests that a worker of a load-balancing endpoint takes at a time, 1 or more.
    pub requests_per_worker: Option<u32>,
    /// How long a request or job may run at an endpoint; 5 s or more.
    pub job_timeout: Option<Duration>,
    /// Where requests are turned into jobs; a loopback address.
    pub job_listen: Option<SocketAddr>,
}

pub(super) fn runpod(section: &Object<'_>) -> RunpodConfig {
    let config = RunpodConfig {
        key: key(section),
        api_url: section.read("api_url", |value| url(value, &[])),
        job_url: section.read("job_url", |value| url(value, &[])),
        pod_url: section.read("pod_url", |value| url(value, &["{id}", "{port}"])),
        endpoint_url: section.read("endpoint_url", |value| url(value, &["{id}"])),
        queue: section
            .choice(
                "endpoint_type",
                &[("load_balancer", false), ("queue", true)],
            )
            .unwrap_or(false),
        community: section
            .choice("cloud", &[("secure", false), ("community", true)])
            .unwrap_or(false),
        data_centers: section.texts("data_centers").unwrap_or_default(),
        disk_gb: section.read("disk_gb", |value| whole(value, 1..=100_000)),
        requests_per_worker: section.whole("requests_per_worker", 1..=10_000),
        job_timeout: section.duration("job_timeout"),
        job_listen: section.read("job_listen", loopback),
    };
    if config
        .job_timeout
        .is_some_and(|it| it < Duration::from_secs(5))
    {
        section.wrong("job_timeout", "must be 5s or more");
    }
    finish(
        section,
        &[
            "kind",
            "api_key_env",
            "api_key_file",
            "api_url",
            "job_url",
            "pod_url",
            "endpoint_url",
            "endpoint_type",
            "cloud",
            "data_centers",
            "disk_gb",
            "requests_per_worker",
            "job_timeout",
            "job_listen",
        ],
    );
    config
}

fn key(section: &Object<'_>) -> KeySource {
    let (env, file) = (section.text("api_key_env"), section.text("api_key_file"));
    if env.is_some() && file.is_some() {
        section.wrong("api_key_file", "excludes api_key_env");
    }
    match file {
        Some(file) => KeySource::File(file.into()),
        None => KeySource::Env(env.unwrap_or_else(|| KEY.to_owned())),
    }
}

/// An http(s) URL that holds every one of `places`.
fn url(value: &serde_json::Value, places: &[&str]) -> Result<String, String> {
    let url = text(value)?;
    if !["http://", "https://"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
    {
        return Err("must be http:// or https://".to_owned());
    }
    match places.iter().find(|place| !url.contains(*place)) {
        Some(missing) => Err(format!("must hold {missing}")),
        None => Ok(url),
    }
}

fn loopback(value: &serde_json::Value) -> Result<SocketAddr, String> {
    let address: Option<SocketAddr> = text(value)?.parse().ok();
    address
        .filter(|address| address.ip().is_loopback())
        .ok_or_else(|| "must be a loopback address with a port, as 127.0.0.1:8090".to_owned())
}
