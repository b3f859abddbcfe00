//! What gateways and workers tell everybody.

use serde::{Deserialize, Serialize};

use super::{Shape, Terms};

/// What a gateway announces: the queues that have work of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// The gateway's reply address.
    pub gateway: String,
    /// Rises with each announcement of this gateway.
    pub sequence: u64,
    /// Whether this names all its queues; else those that changed.
    pub whole: bool,
    /// Milliseconds after which a gateway that is silent counts as gone.
    pub valid_ms: u64,
    /// The queues.
    pub queues: Vec<QueueDemand>,
    /// Workers that are to end what they have and to take no more, by name;
    /// one that is not named any more takes jobs again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draining: Vec<String>,
}

/// One queue's work at one gateway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueDemand {
    /// The deployment.
    pub deployment: String,
    /// Jobs that no worker has claimed.
    pub waiting: u32,
    /// Milliseconds that the oldest of them has waited.
    pub oldest_ms: u64,
    /// The generation of the [`Model`](super::Model) in force.
    pub generation: String,
    /// The terms in force; `None` once the deployment is gone.
    pub terms: Option<Terms>,
}

/// What a worker announces of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The worker's name.
    pub worker: String,
    /// Which life of it.
    pub incarnation: String,
    /// Rises with each report.
    pub sequence: u64,
    /// Milliseconds after which a worker that is silent counts as gone; 0 in the last
    /// word of one that ends: it is gone, and holds nothing.
    pub valid_ms: u64,
    /// What it does.
    pub state: WorkerState,
    /// Which work it is for.
    pub shape: Shape,
    /// Jobs that it may run at a time.
    pub permits: u32,
    /// Jobs that it runs.
    pub in_flight: u32,
    /// Memory for models, MiB.
    pub memory_mib: u64,
    /// What of that is free by the last reading, MiB.
    pub free_mib: u64,
    /// The memory for models of each device, MiB. What is earlier than this
    /// field says nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices_mib: Vec<u64>,
    /// What pinned models hold of each device, MiB: none of it is ever given to
    /// others. What is earlier than this field says nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned_mib: Vec<u64>,
    /// The models that it holds.
    pub resident: Vec<Resident>,
    /// The queues that it serves.
    pub subscribed: Vec<String>,
    /// What its token may pull; see [`allows`](super::allows). `None` while no
    /// gateway has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_pull: Option<Vec<String>>,
    /// Models loaded since its start.
    pub loads: u64,
    /// Models evicted since its start.
    pub evictions: u64,
    /// Jobs run since its start.
    pub jobs: u64,
    /// Loads in the last five minutes, a minute.
    pub load_rate: f64,
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkerState {
    /// Takes jobs.
    Ready,
    /// Loads a model, and takes jobs of others.
    Loading,
    /// Its runtime is down: takes none.
    Down,
    /// Ends what it has, and takes none.
    Draining,
    /// No gateway knows its token: takes none.
    Barred,
}

/// One model that a worker holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resident {
    /// The deployment.
    pub deployment: String,
    /// The memory that it takes, MiB.
    pub memory_mib: u64,
    /// Requests on it.
    pub in_flight: u32,
    /// Milliseconds since its last request.
    pub idle_ms: u64,
    /// Milliseconds that loading it took.
    pub load_ms: u64,
    /// Whether it is still being loaded.
    pub loading: bool,
    /// How much it is used: its requests on this worker, each counting half as
    /// much after every hour. What is earlier than this field says 0.
    #[serde(default)]
    pub heat: f64,
}
