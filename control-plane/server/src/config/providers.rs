use std::collections::BTreeMap;
use std::time::Duration;

use thermocline_wire::reader::{Object, text};

/// Keys of `kind = "sim"`.
#[derive(Debug, Clone, PartialEq)]
pub struct SimConfig {
    /// From create until a pod is ready.
    pub pod_boot: Duration,
    /// From a request until a serverless worker takes it.
    pub cold_start: Duration,
    /// How long a backend works on a request.
    pub service_time: Duration,
    /// Price of a pod.
    pub usd_per_hour: f64,
    /// Price of serverless work.
    pub usd_per_second: f64,
    /// The most pods.
    pub capacity: u32,
}

/// Keys of `kind = "plugin"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginConfig {
    /// Where the adapter listens.
    pub url: String,
    /// The environment variable that holds its token.
    pub token_env: Option<String>,
}

/// One `[providers.NAME]`.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderConfig {
    /// A simulated cloud.
    Sim(SimConfig),
    /// An adapter reached by URL.
    Plugin(PluginConfig),
}

/// Every `[providers.NAME]` that is as it should be.
pub(super) fn providers(section: &Object<'_>) -> BTreeMap<String, ProviderConfig> {
    let mut providers = BTreeMap::new();
    for name in section.keys() {
        if !thermocline_policy::is_dns_label(name) || name == crate::provider::DOCKER {
            section.wrong(name, "must be a DNS label other than docker");
            continue;
        }
        if let Some(config) = section.entry(name).and_then(|p| provider(&p)) {
            providers.insert(name.clone(), config);
        }
    }
    providers
}

fn provider(section: &Object<'_>) -> Option<ProviderConfig> {
    #[derive(Clone, Copy)]
    enum Kind {
        Sim,
        Plugin,
    }
    let kind = section.choice("kind", &[("sim", Kind::Sim), ("plugin", Kind::Plugin)]);
    if section.value("kind").is_none() {
        section.wrong("kind", "is required: sim or plugin");
    }
    Some(match kind? {
        Kind::Sim => ProviderConfig::Sim(sim(section)),
        Kind::Plugin => ProviderConfig::Plugin(plugin(section)?),
    })
}

fn sim(section: &Object<'_>) -> SimConfig {
    let sim = SimConfig {
        pod_boot: section
            .duration("pod_boot")
            .unwrap_or(Duration::from_secs(3)),
        cold_start: section
            .duration("cold_start")
            .unwrap_or(Duration::from_secs(1)),
        service_time: section
            .duration("service_time")
            .unwrap_or(Duration::from_millis(50)),
        usd_per_hour: section.number("usd_per_hour").unwrap_or(1.2),
        usd_per_second: section.number("usd_per_second").unwrap_or(0.0006),
        capacity: section.whole("capacity", 0..=100_000).unwrap_or(4),
    };
    finish(
        section,
        &[
            "kind",
            "pod_boot",
            "cold_start",
            "service_time",
            "usd_per_hour",
            "usd_per_second",
            "capacity",
        ],
    );
    sim
}

fn plugin(section: &Object<'_>) -> Option<PluginConfig> {
    let url = section.read("url", |value| {
        let url = text(value)?;
        match url::Url::parse(&url).is_ok_and(|u| matches!(u.scheme(), "http" | "https")) {
            true => Ok(url),
            false => Err("must be http:// or https://".to_owned()),
        }
    });
    if section.value("url").is_none() {
        section.wrong("url", "is required");
    }
    let token_env = section.text("token_env");
    finish(section, &["kind", "url", "token_env"]);
    Some(PluginConfig {
        url: url?,
        token_env,
    })
}

fn finish(section: &Object<'_>, known: &[&str]) {
    for key in section.keys() {
        if !known.contains(&key.as_str()) {
            section.wrong(
                key,
                format!("is not known here; allowed: {}", known.join(", ")),
            );
        }
    }
}
