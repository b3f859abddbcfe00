//! What is to be run, and on which terms.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which GPUs' worth of work a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// For workers with a GPU.
    #[default]
    Gpu,
    /// For workers without one.
    Cpu,
}

/// What a worker must know to run a deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The deployment's name.
    pub deployment: String,
    /// Changes when anything here does.
    pub generation: String,
    /// The image, or what the runtime knows the model by.
    pub image: String,
    /// Overrides the image's entry point when not empty.
    #[serde(default)]
    pub command: Vec<String>,
    /// Arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment, secrets filled in.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The port that the image listens on.
    pub port: u16,
    /// The path that says whether it is ready.
    #[serde(default)]
    pub ready_path: String,
    /// Statuses that mean ready; empty = any below 500.
    #[serde(default)]
    pub ready_status: Vec<u16>,
    /// Milliseconds that a load may take.
    pub start_timeout_ms: u64,
    /// GPUs.
    #[serde(default)]
    pub gpus: u32,
    /// The terms on which the fleet runs it.
    pub terms: Terms,
}

/// The terms on which the fleet runs a deployment: all that a worker needs to score its queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// The floor of GPU memory (of main memory for [`Shape::Cpu`]), MiB.
    #[serde(skip_serializing_if = "is_zero")]
    pub memory_mib: u64,
    /// GPUs that one load takes.
    #[serde(skip_serializing_if = "is_zero")]
    pub gpus: u32,
    /// The most workers that may hold it; 0 = no cap.
    #[serde(skip_serializing_if = "is_zero")]
    pub max_workers: u32,
    /// Whether every worker holds it always; exempt from the cap.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Which workers it is for.
    pub shape: Shape,
    /// Whether it yields to work that is not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub preemptible: bool,
    /// Seconds without work after which a worker may forget it.
    pub idle_timeout_s: u64,
    /// Requests at a time on one worker; 0 = as many as it has permits.
    #[serde(skip_serializing_if = "is_zero")]
    pub max_concurrency: u32,
    /// Members of the pool on a worker; 1 or more.
    pub members: u32,
    /// Whether a member takes one request at a time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,
    /// Whether each member is an instance of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub per_worker: bool,
    /// Whether the member with the least work is next, instead of the next in turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub least_loaded: bool,
    /// Whether a member that errs is started anew.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub restart_on_error: bool,
    /// Attempts in all before a job is a dead letter; 1 or more.
    pub max_attempts: u32,
}

/// What says nothing is left out: these are announced again and again.
fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for Terms {
    fn default() -> Self {
        Terms {
            memory_mib: 0,
            gpus: 0,
            max_workers: 0,
            pinned: false,
            shape: Shape::Gpu,
            preemptible: false,
            idle_timeout_s: 300,
            max_concurrency: 0,
            members: 1,
            exclusive: false,
            per_worker: false,
            least_loaded: false,
            restart_on_error: false,
            max_attempts: 3,
        }
    }
}
