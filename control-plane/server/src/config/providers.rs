use std::collections::BTreeMap;
use std::time::Duration;

use thermocline_wire::reader::{Object, text};

use super::runpod::{RunpodConfig, runpod};

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

/// Keys of `kind = "plugin"`: where the adapter is, or how it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginConfig {
    /// It runs already.
    Url {
        /// Where it listens.
        url: String,
        /// The environment variable that holds its token.
        token_env: Option<String>,
    },
    /// It is started by us.
    Command(Vec<String>),
}

/// One `[providers.NAME]`.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderConfig {
    /// A simulated cloud.
    Sim(SimConfig),
    /// An adapter in any language.
    Plugin(PluginConfig),
    /// A RunPod account.
    Runpod(RunpodConfig),
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
        Runpod,
    }
    let kinds = [
        ("sim", Kind::Sim),
        ("plugin", Kind::Plugin),
        ("runpod", Kind::Runpod),
    ];
    let kind = section.choice("kind", &kinds);
    if section.value("kind").is_none() {
        section.wrong("kind", "is required: sim, plugin or runpod");
    }
    Some(match kind? {
        Kind::Sim => ProviderConfig::Sim(sim(section)),
        Kind::Plugin => ProviderConfig::Plugin(plugin(section)?),
        Kind::Runpod => ProviderConfig::Runpod(runpod(section)),
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
    let command = section.texts("command");
    let token_env = section.text("token_env");
    finish(section, &["kind", "url", "command", "token_env"]);
    match (section.value("url"), section.value("command")) {
        (None, None) => section.wrong("url", "is required, or command"),
        (Some(_), Some(_)) => section.wrong("command", "excludes url"),
        (None, Some(_)) if token_env.is_some() => {
            section.wrong(
                "token_env",
                "is for url: a started plugin is given its token",
            );
        }
        _ => {}
    }
    if command.as_ref().is_some_and(Vec::is_empty) {
        section.wrong("command", "must name a program");
    }
    match command {
        Some(command) => Some(PluginConfig::Command(command)),
        None => Some(PluginConfig::Url {
            url: url?,
            token_env,
        }),
    }
}

pub(super) fn finish(section: &Object<'_>, known: &[&str]) {
    for key in section.keys() {
        if !known.contains(&key.as_str()) {
            section.wrong(
                key,
                format!("is not known here; allowed: {}", known.join(", ")),
            );
        }
    }
}
