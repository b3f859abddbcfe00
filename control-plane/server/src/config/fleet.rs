mod dead_letters;
mod pool;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde_json::Value;
use thermocline_policy::is_dns_label;
use thermocline_wire::reader::{Object, text};

use super::listen;
use crate::dead_letters::DeadLetterSettings;
use crate::fleet::PoolSettings;

/// `[fleet]`: the shared fleet's gateway side, without the worker in the
/// server's own process, which is whose runtimes they are.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetConfig {
    /// Whether anything of it stands in the configuration.
    pub given: bool,
    /// Where workers are answered.
    pub listen: SocketAddr,
    /// How workers reach that; as it listens when `None`.
    pub advertise: Option<String>,
    /// The largest request body, bytes.
    pub max_payload: u64,
    /// The most requests that are parked at a time.
    pub max_parked: u32,
    /// The most bytes of payload that are held at a time.
    pub max_parked_bytes: u64,
    /// Who may pull.
    pub workers: Vec<FleetWorker>,
    /// What is kept of dead letters.
    pub dead_letters: DeadLetterSettings,
    /// The deployment whose pods are workers.
    pub pool: Option<PoolSettings>,
}

/// `[fleet.workers.NAME]`: a worker's credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetWorker {
    /// Its name.
    pub name: String,
    /// Where its token is.
    pub token: TokenSource,
    /// Names of deployments, or their beginnings before a `*`.
    pub may_pull: Vec<String>,
}

/// Where a token is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// An environment variable.
    Env(String),
    /// A file.
    File(PathBuf),
}

const LISTEN: &str = "127.0.0.1:8082";

impl Default for FleetConfig {
    fn default() -> Self {
        FleetConfig {
            given: false,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8082)),
            advertise: None,
            max_payload: 64 << 20,
            max_parked: 10_000,
            max_parked_bytes: 1 << 30,
            workers: Vec::new(),
            dead_letters: DeadLetterSettings::default(),
            pool: None,
        }
    }
}

/// Reads `[fleet]`, which may be absent.
pub(super) fn fleet(section: Option<Object<'_>>) -> FleetConfig {
    let usual = FleetConfig::default();
    let listen = listen(&section, LISTEN);
    let Some(section) = section else {
        return usual;
    };
    let workers = section.object("workers");
    let config = FleetConfig {
        given: true,
        listen,
        advertise: section.read("advertise", advertise),
        max_payload: section.size("max_payload").unwrap_or(usual.max_payload),
        max_parked: section
            .whole("max_parked", 1..=1_000_000)
            .unwrap_or(usual.max_parked),
        max_parked_bytes: section
            .size("max_parked_bytes")
            .unwrap_or(usual.max_parked_bytes),
        workers: workers.map(|it| accounts(&it)).unwrap_or_default(),
        dead_letters: dead_letters::dead_letters(section.object("dead_letters")),
        pool: pool::pool(&section),
    };
    let _read_elsewhere = section.value("worker");
    if !config.listen.ip().is_loopback() && config.workers.is_empty() {
        section.wrong(
            "listen",
            "beyond loopback needs a token: [fleet.workers.NAME] with token_env or token_file",
        );
    }
    section.finish();
    config
}

fn advertise(value: &Value) -> Result<String, String> {
    const ALLOWED: &str = "must be http:// or https:// with a host and perhaps a port";
    let url = url::Url::parse(&text(value)?).map_err(|_| ALLOWED.to_owned())?;
    let plain = matches!(url.scheme(), "http" | "https")
        && (url.has_host() && url.username().is_empty() && url.password().is_none())
        && (url.path() == "/" && url.query().is_none() && url.fragment().is_none());
    match plain {
        true => Ok(url.as_str().trim_end_matches('/').to_owned()),
        false => Err(ALLOWED.to_owned()),
    }
}

fn accounts(section: &Object<'_>) -> Vec<FleetWorker> {
    let mut accounts = Vec::new();
    for name in section.keys() {
        if !is_dns_label(name) {
            section.wrong(name, "must be a DNS label");
        } else if let Some(account) = section.entry(name).and_then(|it| account(name, it)) {
            accounts.push(account);
        }
    }
    accounts
}

fn account(name: &str, section: Object<'_>) -> Option<FleetWorker> {
    let token = match (section.text("token_env"), section.text("token_file")) {
        (Some(_), Some(_)) => {
            section.wrong("token_file", "excludes token_env");
            None
        }
        (Some(variable), None) => Some(TokenSource::Env(variable)),
        (None, Some(file)) => Some(TokenSource::File(file.into())),
        (None, None) => {
            if section.value("token_env").is_none() && section.value("token_file").is_none() {
                section.wrong("token_env", "is required, or token_file");
            }
            None
        }
    };
    let may_pull = section.list("may_pull", pattern);
    section.finish();
    Some(FleetWorker {
        name: name.to_owned(),
        token: token?,
        may_pull: may_pull.unwrap_or_else(|| vec!["*".to_owned()]),
    })
}

fn pattern(value: &Value) -> Result<String, String> {
    let pattern = text(value)?;
    let name = pattern.strip_suffix('*').unwrap_or(&pattern);
    let part = name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    match part && !pattern.is_empty() && name.len() <= 63 {
        true => Ok(pattern),
        false => Err("must be the name of a deployment, or its beginning before a *".to_owned()),
    }
}
