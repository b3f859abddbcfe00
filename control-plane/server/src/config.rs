//! `thermocline.toml`: every key, its default, and all mistakes at once.

mod broker;
mod budget;
mod fleet;

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use thermocline_policy::{Defaults, FieldErrors, PolicyMode, Thresholds, UsdPerSecond};
use thermocline_wire::reader::{Mistakes, Object, size, text};
use thermocline_wire::window_field;
use thiserror::Error;

pub use broker::BrokerConfig;
pub use budget::BudgetConfig;
pub use fleet::{FleetConfig, FleetWorker, TokenSource};

/// The server cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The store cannot be used.
    #[error("the store cannot be opened: {0}")]
    Store(#[from] thermocline_store::StoreError),
    /// A stored deployment does not fit this configuration.
    #[error("deployment {name}: {errors}")]
    Deployment {
        /// Its name.
        name: String,
        /// What is wrong with it now.
        errors: FieldErrors,
    },
}

/// Who may be on loopback or private addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outbound {
    /// The users' own instances.
    pub dedicated: bool,
    /// Payloads named by URL.
    pub payload: bool,
    /// Webhooks.
    pub webhook: bool,
}

/// The configuration but for `[providers]`, which are whose adapters they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where the request plane listens.
    pub request_listen: SocketAddr,
    /// Deployments are also reached as `NAME.<base_domain>`.
    pub base_domain: String,
    /// Networks whose `x-forwarded-*` headers are believed.
    pub trusted_proxies: Vec<String>,
    /// Whether requests need a token.
    pub request_token: bool,
    /// Where the admin plane listens.
    pub admin_listen: SocketAddr,
    /// The store.
    pub store_url: String,
    /// The file that holds the key of the secrets; beside the store's when `None`.
    pub secrets_key_file: Option<String>,
    /// The shared fleet's queues.
    pub broker: BrokerConfig,
    /// What a deployment that says nothing gets.
    pub defaults: Defaults,
    /// What all deployments together may cost.
    pub budget: BudgetConfig,
    /// The Docker daemon.
    pub docker: String,
    /// What local instances may take of each GPU of this machine, bytes; `None`
    /// = all of every GPU that is found.
    pub vram: Option<Vec<u64>>,
    /// How long a shutdown waits for work in hand.
    pub grace: Duration,
    /// Who may be on loopback or private addresses.
    pub outbound: Outbound,
    /// The shared fleet.
    pub fleet: FleetConfig,
}

impl Config {
    /// Reads the file's content as JSON; an empty object gives every default.
    ///
    /// # Errors
    /// Every mistake, each with its key and what is allowed.
    pub fn read(document: &Value) -> Result<Config, FieldErrors> {
        let mistakes = Mistakes::default();
        let config = Object::root("", document, &mistakes).map(|root| whole(&root));
        let errors = mistakes.into_inner();
        match config {
            Some(config) => errors.into_result(config),
            None => Err(errors),
        }
    }
}

fn whole(root: &Object<'_>) -> Config {
    let section = |name: &'static str| root.object(name);
    let request = section("request");
    let admin = section("admin");
    let store = section("store");
    let secrets = section("secrets");
    let local = section("local");
    let drain = section("drain");
    let of = |section: &Option<Object<'_>>, key| section.as_ref().and_then(|s| s.text(key));
    let config = Config {
        request_listen: listen(&request, "127.0.0.1:8080"),
        base_domain: of(&request, "base_domain").unwrap_or_default(),
        trusted_proxies: request
            .as_ref()
            .and_then(|s| s.list("trusted_proxies", network))
            .unwrap_or_default(),
        request_token: request
            .as_ref()
            .and_then(|s| s.choice("auth", &[("open", false), ("token", true)]))
            .unwrap_or(false),
        admin_listen: listen(&admin, "127.0.0.1:8081"),
        store_url: store
            .as_ref()
            .and_then(|s| s.read("url", store_url))
            .unwrap_or_else(|| "sqlite://thermocline.db".to_owned()),
        secrets_key_file: of(&secrets, "key_file"),
        broker: broker::broker(section("broker")),
        defaults: defaults(root),
        budget: budget::budget(root),
        docker: local
            .as_ref()
            .and_then(|s| s.read("docker", docker))
            .unwrap_or_else(|| "unix:///var/run/docker.sock".to_owned()),
        vram: local.as_ref().and_then(|s| s.read("vram", vram)).flatten(),
        grace: drain
            .as_ref()
            .and_then(|s| s.duration("grace"))
            .unwrap_or(Duration::from_secs(30)),
        outbound: outbound(root),
        fleet: fleet::fleet(root.object("fleet")),
    };
    for section in [request, admin, store, secrets, local, drain]
        .into_iter()
        .flatten()
    {
        section.finish();
    }
    root_keys(root);
    config
}

/// Every section's name counts as known; anything else at the root is a mistake.
fn root_keys(root: &Object<'_>) {
    const SECTIONS: [&str; 14] = [
        "request",
        "admin",
        "store",
        "secrets",
        "broker",
        "policy",
        "cold_start",
        "limits",
        "budget",
        "local",
        "drain",
        "outbound",
        "providers",
        "fleet",
    ];
    for key in root.keys() {
        if !SECTIONS.contains(&key.as_str()) {
            root.wrong(
                key,
                format!("is not known here; allowed: {}", SECTIONS.join(", ")),
            );
        }
    }
}

fn listen(section: &Option<Object<'_>>, default: &str) -> SocketAddr {
    let parsed = section.as_ref().and_then(|s| {
        s.read("listen", |value| {
            text(value)?
                .parse()
                .map_err(|_| "must be an address with a port, as 127.0.0.1:8080".to_owned())
        })
    });
    parsed.unwrap_or_else(|| {
        default
            .parse()
            .unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)))
    })
}

fn network(value: &Value) -> Result<String, String> {
    let text = text(value)?;
    let address = text.split('/').next().unwrap_or_default();
    let bits = text.split_once('/').map(|(_, bits)| bits.parse::<u8>());
    let most = if address.contains(':') { 128 } else { 32 };
    let ok = address.parse::<std::net::IpAddr>().is_ok()
        && bits.is_none_or(|bits| bits.is_ok_and(|bits| bits <= most));
    match ok {
        true => Ok(text),
        false => Err("must be an address or a network, as 10.0.0.0/8".to_owned()),
    }
}

fn store_url(value: &Value) -> Result<String, String> {
    let url = text(value)?;
    match url.starts_with("sqlite://") && url.len() > "sqlite://".len() || url == "sqlite::memory:"
    {
        true => Ok(url),
        false => Err("must be sqlite://FILE".to_owned()),
    }
}

fn docker(value: &Value) -> Result<String, String> {
    let url = text(value)?;
    match url.starts_with("unix:///") || url.starts_with("tcp://") {
        true => Ok(url),
        false => Err("must be unix:///PATH or tcp://HOST:PORT".to_owned()),
    }
}

/// `auto`, one size, or a list of them.
fn vram(value: &Value) -> Result<Option<Vec<u64>>, String> {
    let sizes = match value {
        Value::String(word) if word == "auto" => return Ok(None),
        Value::Array(sizes) => sizes.iter().map(size).collect(),
        one => size(one).map(|size| vec![size]),
    };
    sizes
        .map(Some)
        .map_err(|e: String| format!("{e}; auto, or one for each GPU"))
}

fn defaults(root: &Object<'_>) -> Defaults {
    let mut defaults = Defaults::default();
    if let Some(policy) = root.object("policy") {
        let modes = PolicyMode::ALL.map(|mode| (mode.as_str(), mode));
        defaults.mode = policy.choice("mode", &modes).unwrap_or_default();
        let wait = policy.number("value_of_wait_usd_per_s");
        defaults.value_of_wait = wait.and_then(UsdPerSecond::of).unwrap_or_default();
        defaults.thresholds = thresholds(&policy);
        policy.finish();
    }
    if let Some(cold) = root.object("cold_start") {
        defaults.max_wait = cold.duration("max_wait").unwrap_or(defaults.max_wait);
        defaults.max_pending = cold
            .whole("max_pending", 0..=1_000_000)
            .unwrap_or(defaults.max_pending);
        cold.finish();
    }
    if let Some(limits) = root.object("limits") {
        defaults.deadline = limits
            .duration_above_zero("deadline")
            .unwrap_or(defaults.deadline);
        defaults.first_byte = limits
            .duration_above_zero("first_byte")
            .unwrap_or(defaults.first_byte);
        defaults.idle = limits.duration_above_zero("idle").unwrap_or(defaults.idle);
        defaults.max_body = limits.size("max_body").unwrap_or(defaults.max_body);
        limits.finish();
    }
    defaults
}

fn thresholds(policy: &Object<'_>) -> Thresholds {
    let defaults = Thresholds::default();
    let thresholds = Thresholds {
        window: window_field(policy).unwrap_or(defaults.window),
        promote_rps: policy
            .number_above_zero("promote_rps")
            .unwrap_or(defaults.promote_rps),
        demote_rps: policy.number("demote_rps").unwrap_or(defaults.demote_rps),
        hold: policy.duration("hold").unwrap_or(defaults.hold),
        ..defaults
    };
    if thresholds.demote_rps >= thresholds.promote_rps {
        policy.wrong(
            "demote_rps",
            format!("must be below promote_rps ({})", thresholds.promote_rps),
        );
    }
    thresholds
}

fn outbound(root: &Object<'_>) -> Outbound {
    let Some(section) = root.object("outbound") else {
        return Outbound {
            dedicated: true,
            ..Outbound::default()
        };
    };
    let named = section.list("allow_private", |value| {
        let name = text(value)?;
        match ["dedicated", "payload", "webhook"].contains(&name.as_str()) {
            true => Ok(name),
            false => Err("must be one of dedicated, payload, webhook".to_owned()),
        }
    });
    section.finish();
    let named = named.unwrap_or_else(|| vec!["dedicated".to_owned()]);
    let has = |name: &str| named.iter().any(|n| n == name);
    Outbound {
        dedicated: has("dedicated"),
        payload: has("payload"),
        webhook: has("webhook"),
    }
}

#[cfg(test)]
mod tests;
