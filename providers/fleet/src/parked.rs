use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use subtle::ConstantTimeEq;
use thermocline_policy::Moment;
use thermocline_provider::fleet::ParkedRequest;
use thermocline_wire::fleet::{Credentials, Job, ResultHead};
use tokio::sync::{mpsc, oneshot};

use crate::excuse::Excuse;
use crate::room::Room;

/// A request that waits for its result.
#[derive(Debug)]
pub(crate) struct Parked {
    /// The job's.
    pub(crate) id: String,
    pub(crate) deployment: Arc<str>,
    /// Admits to the claim.
    pub(crate) ticket: String,
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) payload: Payload,
    pub(crate) traceparent: Option<String>,
    pub(crate) arrived: Moment,
    pub(crate) deadline: Moment,
}

/// A request's body, whole.
#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) bytes: Bytes,
    /// Hexadecimal.
    pub(crate) sha256: String,
    pub(crate) _room: Room,
}

impl Parked {
    /// Whether `job` is its, and no forgery.
    pub(crate) fn is(&self, job: &Job) -> bool {
        let ticket = self.ticket.as_bytes().ct_eq(job.ticket.as_bytes());
        *self.deployment == *job.deployment && bool::from(ticket)
    }

    /// What in it lets somebody in: nothing that is told of it may hold that.
    pub(crate) fn credentials(&self) -> Credentials {
        Credentials::of(&self.target, &self.headers)
    }

    /// The request, to be kept elsewhere.
    pub(crate) fn request(&self) -> ParkedRequest {
        ParkedRequest {
            deployment: self.deployment.to_string(),
            method: self.method.clone(),
            target: self.target.clone(),
            headers: self.headers.clone(),
            payload: self.payload.bytes.clone(),
        }
    }
}

/// What a parked request is told.
#[derive(Debug)]
pub(crate) enum Reply {
    /// A worker's result has begun.
    Answer(Answer),
    /// There will be none.
    Excused(Excuse),
}

/// A result on its way from a worker to the client.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: ResultHead,
    /// From its arrival until a worker was granted the claim.
    pub(crate) waited: Duration,
    /// Of its time in the fleet before its run, how much was a load of its model.
    pub(crate) loading: Duration,
    pub(crate) body: mpsc::Receiver<Piece>,
    /// To be told when the client has all of it.
    pub(crate) taken: oneshot::Sender<()>,
}

/// A piece of a result's body; `None` says that it is whole. A channel that
/// closes without is a worker that broke off, however it did.
pub(crate) type Piece = Option<Bytes>;

/// The worker broke off in the middle of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BrokeOff;

impl std::fmt::Display for BrokeOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the worker broke off")
    }
}

impl std::error::Error for BrokeOff {}
