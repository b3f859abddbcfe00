//! What Vast.ai says, as far as it is read.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// One instance.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Record {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) label: Option<String>,
    /// What the container does; absent while it is being provisioned.
    #[serde(default)]
    pub(crate) actual_status: Option<String>,
    /// What it is meant to do.
    #[serde(default)]
    pub(crate) intended_status: Option<String>,
    #[serde(default)]
    pub(crate) status_msg: Option<String>,
    #[serde(default)]
    pub(crate) public_ipaddr: Option<String>,
    /// An object in Docker's manner; some answers have a plain list.
    #[serde(default)]
    pub(crate) ports: Value,
    /// Dollars an hour, storage included.
    #[serde(default)]
    pub(crate) dph_total: Option<f64>,
    /// Pairs of name and value, port mappings among them.
    #[serde(default)]
    extra_env: Option<Value>,
}

impl Record {
    /// Its environment; `None` when the answer leaves it out.
    pub(crate) fn env(&self) -> Option<BTreeMap<String, String>> {
        let pair = |pair: &Value| {
            let text = |i: usize| pair.get(i)?.as_str().map(str::to_owned);
            Some((text(0)?, text(1)?))
        };
        let pairs = self.extra_env.as_ref()?.as_array()?;
        Some(pairs.iter().filter_map(pair).collect())
    }

    /// Where `port` of the container is reached from outside.
    pub(crate) fn mapped(&self, port: u16) -> Option<u16> {
        let mapping = &self.ports.get(format!("{port}/tcp"))?[0]["HostPort"];
        mapping.as_str()?.parse().ok()
    }

    /// The one port that its environment maps.
    pub(crate) fn port(&self) -> Option<u16> {
        let env = self.env()?;
        env.keys().find_map(|name| {
            name.strip_prefix("-p ")?
                .split(':')
                .next_back()?
                .parse()
                .ok()
        })
    }
}

/// `GET /api/v0/instances/ID`: one under a plural.
#[derive(Debug, Deserialize)]
pub(crate) struct One {
    pub(crate) instances: Option<Record>,
}

/// A page of `GET /api/v1/instances`.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) instances: Vec<Record>,
    /// How many there are on all pages.
    #[serde(default)]
    pub(crate) total_instances: Option<usize>,
    #[serde(default)]
    pub(crate) next_token: Option<String>,
}

/// `POST /api/v0/bundles`.
#[derive(Debug, Deserialize)]
pub(crate) struct Offers {
    pub(crate) offers: Vec<Ask>,
}

/// One offer of the market.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Ask {
    pub(crate) id: u64,
    pub(crate) gpu_name: String,
    /// MB of one GPU.
    pub(crate) gpu_ram: f64,
    /// Dollars an hour without and with storage.
    pub(crate) dph_base: f64,
    pub(crate) dph_total: f64,
    /// Dollars an hour that an interruptible instance must bid.
    #[serde(default)]
    pub(crate) min_bid: Option<f64>,
    #[serde(default)]
    pub(crate) geolocation: Option<String>,
    /// Somebody has it; the service does not filter by it.
    #[serde(default)]
    pub(crate) rented: bool,
}

/// What a create that was obeyed is answered with.
#[derive(Debug, Deserialize)]
pub(crate) struct Rented {
    pub(crate) new_contract: u64,
}

/// What a refusal says, in one of its shapes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) success: Option<bool>,
    /// What it says in words, wherever that stands.
    pub(crate) words: Vec<String>,
    /// The instance that was made all the same.
    pub(crate) new_contract: Option<u64>,
}

impl Refusal {
    /// The refusal in `body`; `None` where that is no JSON object. Each field is
    /// read by itself: one of an odd type loses no other.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let said: Value = serde_json::from_slice(body).ok()?;
        let said = said.as_object()?;
        let words = ["error", "msg", "message", "detail"];
        Some(Refusal {
            success: said.get("success").and_then(Value::as_bool),
            words: words
                .iter()
                .filter_map(|name| text(said.get(*name)?))
                .collect(),
            new_contract: said.get("new_contract").and_then(number),
        })
    }
}

/// Text as it is, and what else there is as JSON.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// A whole number, also as text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
