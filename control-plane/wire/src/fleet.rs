//! What gateways and workers of the shared fleet say to each other: the job in
//! the queue, the announcements, and the bodies of the calls by which a worker
//! fetches a payload and brings a result.
//!
//! | call, with the worker's token | answer |
//! |---|---|
//! | `POST /v1/jobs/{id}/claim`, a [`Claim`] | a [`frame`] with the [`Grant`], then the payload; the response then stays open until a frame with an [`Ending`] |
//! | `POST /v1/jobs/{id}/result`, a [`frame`] with the [`ResultHead`], then the body | 204 when it has reached the client |
//! | `POST /v1/jobs/{id}/failure`, a [`Failure`] | 204 |
//! | `GET /v1/models/{deployment}` | the [`Model`] |
//!
//! Refusals are problem+json whose `code` is a [`Refusal`]. Times travel as
//! what remains, since clocks differ.

mod nouns;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A queued request: small, since the payload stays with its gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// A ULID, the same over all attempts.
    pub id: String,
    /// The deployment's name, which is the queue's.
    pub deployment: String,
    /// Milliseconds that were left when it was published.
    pub remaining_ms: u64,
    /// The gateway that holds the payload and waits for the result: `http://` or `https://` with host and port.
    pub reply_to: String,
    /// Admits to the claim, so that who did not see the job cannot ask for it.
    pub ticket: String,
    /// Bytes of the request's body, which is not here.
    pub payload_bytes: u64,
    /// The client's trace context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// What went wrong in the attempts so far, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
}

/// Asks for a job's payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The worker's name.
    pub worker: String,
    /// Which life of the worker asks; another after each start of its process.
    pub incarnation: String,
    /// The job's.
    pub ticket: String,
    /// Attempts before this one. A claim of an attempt that was granted already is refused.
    pub attempts: u32,
}

/// Grants a claim: what to run, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Names this run of the job; a result or failure without it, or with an older one, is refused.
    pub run: String,
    /// Milliseconds left by the gateway's clock.
    pub remaining_ms: u64,
    /// The method.
    pub method: String,
    /// Path and query, as the backend is to see them.
    pub target: String,
    /// The request's headers, in order; values are what is visible of them as Latin-1.
    pub headers: Vec<(String, String)>,
    /// Bytes of payload that follow.
    pub payload_bytes: u64,
    /// SHA-256 of the payload, hexadecimal.
    pub sha256: String,
    /// The generation of the [`Model`] that must answer it.
    pub generation: String,
}

/// Why the work on a granted job is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Its result or failure has been taken.
    Settled,
    /// The client left: stop.
    ClientLeft,
    /// The deadline passed: stop.
    Expired,
    /// Another worker runs it now: stop.
    Superseded,
    /// The gateway goes away.
    Closing,
}

/// Why a call of a worker is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// 401: the token is missing or unknown.
    Auth,
    /// 403: the token may not pull this deployment, or the ticket is wrong.
    Forbidden,
    /// 404: this gateway does not know the job; nobody waits for it. Acknowledge it.
    Abandoned,
    /// 410: the client left. Acknowledge it.
    ClientLeft,
    /// 410: the deadline passed. Acknowledge it.
    Expired,
    /// 410: it was answered already. Acknowledge it.
    Answered,
    /// 409: this attempt was granted already, or a later one was: drop what you have.
    Superseded,
    /// 425 + `retry-after`: whether the last holder lives is not known yet. Ask again.
    Undecided,
    /// 422: two workers died with it in hand. Make it a dead letter.
    Poison,
}

/// The head of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultHead {
    /// The grant's.
    pub run: String,
    /// The status.
    pub status: u16,
    /// The response's headers, in order.
    pub headers: Vec<(String, String)>,
    /// How the body that follows is coded on this hop: `identity` or `gzip`.
    pub coding: String,
    /// Milliseconds from the delivery until the runtime was asked, loading included.
    pub queue_ms: u64,
    /// Milliseconds of loading in that; 0 when it was warm.
    pub load_ms: u64,
}

/// What went wrong in an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The grant's; empty in what travels with a job.
    #[serde(default)]
    pub run: String,
    /// The worker's name.
    pub worker: String,
    /// What kind of failure.
    pub kind: FailureKind,
    /// The runtime's status, where it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// For people, without secrets; at most 500 characters.
    pub detail: String,
    /// Whether there will be no further attempt: the client is answered now.
    #[serde(rename = "final")]
    pub last: bool,
}

/// What kind of failure an attempt ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The runtime's process died with the job in hand.
    RuntimeDied,
    /// The worker was lost with the job in hand, says the gateway.
    WorkerLost,
    /// The model could not be loaded now: no memory, no device, no image reachable.
    OutOfCapacity,
    /// The model cannot be loaded at all: its artefact or image is wrong.
    Incompatible,
    /// The runtime did not answer in time.
    TimedOut,
    /// The runtime answered a 5xx, or broke off.
    RuntimeFailed,
    /// The runtime said that the request is wrong.
    Rejected,
}

/// Why a worker made a job a dead letter: the report beside it, whose own body
/// holds every failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obituary {
    /// What its failures say about trying it again.
    pub class: Class,
    /// The last of them.
    pub failure: Failure,
}

/// What a dead letter's failures say about trying it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It may succeed another time.
    Transient,
    /// It fails the same way every time.
    Deterministic,
    /// It kills what runs it.
    Poison,
}

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
    /// The generation of the [`Model`] in force.
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
    /// Milliseconds after which a worker that is silent counts as gone.
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
    /// The models that it holds.
    pub resident: Vec<Resident>,
    /// The queues that it serves.
    pub subscribed: Vec<String>,
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
}

/// One model that a worker holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// The header that names the deployment to the gateway side of the fleet.
pub const DEPLOYMENT_HEADER: &str = "x-thermocline-fleet-deployment";

/// The most bytes of a [`frame`]'s JSON.
pub const MOST_FRAME: usize = 1 << 20;

/// `message` as a frame: its length as four bytes, the highest first, then JSON.
///
/// # Errors
/// What serde says; no type of this module fails.
pub fn frame(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
    frame[..4].copy_from_slice(&length.to_be_bytes());
    Ok(frame)
}
