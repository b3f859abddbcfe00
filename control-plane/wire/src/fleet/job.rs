//! A job, and what a worker and its gateway say of it.

use serde::{Deserialize, Serialize};

use super::Credentials;

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
    /// The generation of the [`Model`](super::Model) that must answer it.
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
    /// 425 + `retry-after`: the last holder runs it still, or may. Ask again.
    Undecided,
    /// 409: as many other workers hold its model as may. Give it back, and let
    /// the model go.
    Capped,
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
    /// The load of the model that answered, whoever waited for it. What is earlier
    /// than this field says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded: Option<LoadSpan>,
}

/// When a model was loaded, as its worker says when it sends this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadSpan {
    /// Milliseconds that the load took.
    pub took_ms: u64,
    /// Milliseconds since it ended.
    pub ago_ms: u64,
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

impl Failure {
    /// The same, told without `credentials`.
    #[must_use]
    pub fn without(self, credentials: &Credentials) -> Self {
        let detail = credentials.hidden_in(&self.detail).into_owned();
        Failure { detail, ..self }
    }
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
