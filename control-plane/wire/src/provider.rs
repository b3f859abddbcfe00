//! The provider protocol, version 1: what an adapter says and is told.

mod check;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thermocline_policy::Tier;

use crate::fleet::Terms;
pub use check::{Checked, Mistake, Place};

/// The protocol's version.
pub const PROTOCOL: u32 = 1;

/// `GET /v1/capabilities`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// The version spoken; [`PROTOCOL`].
    pub protocol: u32,
    /// The adapter's name.
    pub name: String,
    /// The adapter's version.
    pub version: String,
    /// The tiers that it can give.
    pub tiers: Vec<Tier>,
    /// Whether its offers carry prices.
    pub prices: bool,
    /// Whether its instances end by themselves once their lifetime is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lifetimes: bool,
    /// Whether it says of a request what it can never do of it, before it is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checks: bool,
}

/// Hardware at a price that a provider would sell now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The provider's name for it.
    pub id: String,
    /// The GPU's name.
    pub gpu: String,
    /// Memory of one GPU, MiB.
    pub vram_mib: u64,
    /// Dollars an hour while it exists (pods).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_per_hour: Option<f64>,
    /// Dollars a second of work (serverless).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_per_second: Option<f64>,
    /// Where it is.
    #[serde(default)]
    pub region: String,
    /// Whether it can be had now.
    pub available: bool,
}

/// `GET /v1/offers`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offers {
    /// What is for sale.
    pub offers: Vec<Offer>,
}

/// The body of `PUT /v1/instances/{key}`: everything about what to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceRequest {
    /// The installation that pays.
    pub owner: String,
    /// The deployment's name.
    pub deployment: String,
    /// The tier wanted.
    pub tier: Tier,
    /// An offer's id; any when absent.
    #[serde(default)]
    pub offer: Option<String>,
    /// The image.
    pub image: String,
    /// Overrides the image's entry point when not empty.
    #[serde(default)]
    pub command: Vec<String>,
    /// Arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The port that the image listens on.
    pub port: u16,
    /// The memory floor, MiB of GPU memory.
    #[serde(default)]
    pub vram_mib: u64,
    /// How many GPUs.
    #[serde(default)]
    pub gpus: u32,
    /// Acceptable GPUs by the provider's names, best first; any when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpu: Vec<String>,
    /// The path that says whether it is ready.
    #[serde(default)]
    pub ready_path: String,
    /// Seconds without work after which a serverless worker may go.
    #[serde(default)]
    pub idle_timeout_s: u64,
    /// The most serverless workers.
    #[serde(default)]
    pub max_workers: u32,
    /// Seconds that a request may queue before another worker comes.
    #[serde(default)]
    pub queue_delay_s: u64,
    /// Seconds after which it ends by itself unless its lifetime is renewed; 0 = never.
    #[serde(default, skip_serializing_if = "is_never")]
    pub max_lifetime_s: u64,
    /// CPUs; 0 = as the provider sees fit.
    #[serde(default)]
    pub cpus: f64,
    /// Main memory, MiB; 0 = as the provider sees fit.
    #[serde(default)]
    pub memory_mib: u64,
    /// The GPUs of this machine that a local container gets, by UUID; `gpus` of
    /// them, whichever, when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// The port on this machine that a local container is published at; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_port: Option<u16>,
    /// What the shared fleet alone needs; for every other provider absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetRequest>,
}

// serde wants a reference
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_never(seconds: &u64) -> bool {
    *seconds == 0
}

/// `PUT /v1/instances/{id}/lifetime`: it lives for so long again, from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    /// Seconds; 0 = it does not end by itself any more.
    pub max_lifetime_s: u64,
}

/// What the shared fleet must know of a deployment beside what every provider is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetRequest {
    /// Milliseconds that a load may take.
    pub start_timeout_ms: u64,
    /// Statuses that mean ready; empty = any below 500.
    #[serde(default)]
    pub ready_status: Vec<u16>,
    /// The terms on which it is run.
    pub terms: Terms,
}

/// What a provider says of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderState {
    /// On its way up.
    Starting,
    /// It has an address and runs; whether the model is loaded, its ready path says.
    Ready,
    /// On its way down.
    Stopping,
    /// It does not exist any more.
    Gone,
    /// It will not come up, or it ended by itself; `detail` says why.
    Failed,
}

/// Where an instance is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// `http://` or `https://` with host and port.
    pub url: String,
    /// Headers that every request to it must carry.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Whether what answers there goes by the Host header, so that it must see
    /// its own unless the specification says otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_host: bool,
    /// Whether every request to it is to carry `x-thermocline-remaining-ms`:
    /// the milliseconds that are left of the client's deadline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remaining: bool,
}

/// One instance as its provider sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderInstance {
    /// The provider's id.
    pub id: String,
    /// Our instance id.
    pub key: String,
    /// The installation that owns it.
    pub owner: String,
    /// Where it stands.
    pub state: ProviderState,
    /// Where it is reached; `None` unless ready.
    #[serde(default)]
    pub address: Option<Address>,
    /// What it costs while it exists.
    #[serde(default)]
    pub usd_per_hour: Option<f64>,
    /// More, for people.
    #[serde(default)]
    pub detail: String,
}

/// `GET /v1/instances?owner=…`: one page of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstancePage {
    /// The instances of this page.
    pub instances: Vec<ProviderInstance>,
    /// The next page's cursor.
    #[serde(default)]
    pub next: Option<String>,
    /// Whether an absence means something.
    pub complete: bool,
}
