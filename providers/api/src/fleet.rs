//! What the shared fleet tells the control plane, and does for it.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use thermocline_wire::fleet::{Failure, FailureKind, Job, Report, Terms};

use crate::ProviderError;

/// The fleet as one gateway sees it. Nothing here asks a worker anything:
/// it is what was announced, and what is parked here.
#[async_trait]
pub trait SharedFleet: Send + Sync {
    /// The workers that reported lately, by name.
    fn workers(&self) -> Vec<SeenWorker>;

    /// The queues of every deployment that the fleet runs, by name.
    fn queues(&self) -> Vec<SeenQueue>;

    /// Why no worker could hold `deployment` on `terms` now, whatever it let
    /// go, as a sentence; `None` where one could, or that is not known.
    fn unserved(&self, deployment: &str, terms: &Terms) -> Option<String>;

    /// Ends those of `deployment`'s requests that no worker has begun, unless one
    /// has its model loaded: it is on its way out, and nobody loads for it any more.
    fn release(&self, deployment: &str);

    /// What has been counted since the start, and what there is now.
    fn tally(&self) -> FleetTally;

    /// Asks `workers`, and nobody else any more, to end what they have and to
    /// take no more; said again and again until it is called with others.
    fn drain(&self, workers: Vec<String>);

    /// The dead letters of this installation, as they come; one that is not
    /// archived comes again. To be called once.
    ///
    /// # Errors
    /// [`ProviderError`] when one cannot subscribe to them now.
    async fn dead_letters(&self) -> Result<BoxStream<'static, DeadLetter>, ProviderError>;

    /// Puts `request` into its deployment's queue once more, under a new id
    /// and without a client, and waits for its end, `within` at most.
    ///
    /// # Errors
    /// [`ProviderError`] when it could not be put there.
    async fn replay(
        &self,
        request: ParkedRequest,
        within: Duration,
    ) -> Result<Replayed, ProviderError>;
}

/// A worker, by its last report.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenWorker {
    /// What it said.
    pub report: Report,
    /// How long ago.
    pub age: Duration,
}

/// A deployment's queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenQueue {
    /// The deployment.
    pub deployment: String,
    /// Jobs of this gateway that no worker has claimed.
    pub waiting: u32,
    /// How long the oldest of them has waited.
    pub oldest: Duration,
    /// Jobs of this gateway that a worker runs.
    pub running: u32,
    /// Workers that serve the queue, by name.
    pub served_by: Vec<String>,
    /// Workers that hold the model, by name.
    pub held_by: Vec<String>,
    /// The terms in force.
    pub terms: Terms,
}

/// How a request to the fleet ended, as it is counted: each once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetResult {
    /// A worker's result went to its client.
    Answered,
    /// Its last attempt failed, or its result broke off.
    Failed,
    /// Two holders died with it in hand.
    Poison,
    /// Its deadline passed.
    Expired,
    /// No worker had its model loaded within the time that it could wait.
    ColdStartTimeout,
    /// Its client left.
    ClientLeft,
    /// It was not taken in: too much is parked, or it is none for a fleet.
    Refused,
    /// It had no queue: its broker or its deployment is away.
    Unavailable,
}

impl FleetResult {
    /// Every one, in the order of their numbers.
    pub const ALL: [FleetResult; 8] = [
        FleetResult::Answered,
        FleetResult::Failed,
        FleetResult::Poison,
        FleetResult::Expired,
        FleetResult::ColdStartTimeout,
        FleetResult::ClientLeft,
        FleetResult::Refused,
        FleetResult::Unavailable,
    ];

    /// As metrics say it.
    pub const fn as_str(self) -> &'static str {
        match self {
            FleetResult::Answered => "answered",
            FleetResult::Failed => "failed",
            FleetResult::Poison => "poison",
            FleetResult::Expired => "expired",
            FleetResult::ColdStartTimeout => "cold_start_timeout",
            FleetResult::ClientLeft => "client_left",
            FleetResult::Refused => "refused",
            FleetResult::Unavailable => "unavailable",
        }
    }
}

/// Counts of one gateway since its start, and its gauges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FleetTally {
    /// Requests put into a queue.
    pub published: u64,
    /// Claims granted.
    pub granted: u64,
    /// Requests that ended, by how they did.
    pub ended: [u64; FleetResult::ALL.len()],
    /// Claims of jobs that nobody waits for any more, or never did here.
    pub abandoned: u64,
    /// Runs that a later attempt took the place of.
    pub superseded: u64,
    /// Results and failures of runs that were over: late, or a second one.
    pub late: u64,
    /// Holders that died with a job in hand.
    pub deaths: u64,
    /// Requests that are parked now.
    pub parked: u64,
    /// Requests that a worker runs now.
    pub running: u64,
    /// Bytes of payload that are held now, those of dead letters to be archived included.
    pub held_bytes: u64,
}

impl FleetTally {
    /// Counts one that ended as `result` says.
    pub fn count(&mut self, result: FleetResult) {
        self.ended[result as usize] += 1;
    }

    /// How many ended as `result` says.
    pub fn of(&self, result: FleetResult) -> u64 {
        self.ended[result as usize]
    }
}

/// A request as it was parked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedRequest {
    /// The deployment.
    pub deployment: String,
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Headers in order, credentials included.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub payload: Bytes,
}

/// Why a job is a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// A worker gave it up; its report, as the worker wrote it.
    GivenUp(Bytes),
    /// The broker gave it up: nobody ever settled it.
    Undeliverable,
}

/// A job that nobody will run any more.
pub struct DeadLetter {
    /// The job; what it says of failures is the workers' account.
    pub job: Job,
    /// Why.
    pub cause: Cause,
    /// Attempts that were made.
    pub attempts: u32,
    /// What this gateway knows went wrong, oldest first; deaths of holders included.
    pub failures: Vec<Failure>,
    /// The request, while this gateway still holds it.
    pub request: Option<ParkedRequest>,
    archived: BoxFuture<'static, ()>,
}

impl DeadLetter {
    /// A dead letter; `archived` forgets it wherever it is still kept.
    pub fn new(
        job: Job,
        cause: Cause,
        attempts: u32,
        known: (Vec<Failure>, Option<ParkedRequest>),
        archived: BoxFuture<'static, ()>,
    ) -> Self {
        let (failures, request) = known;
        DeadLetter {
            job,
            cause,
            attempts,
            failures,
            request,
            archived,
        }
    }

    /// It has been archived: the broker and the gateway may forget it.
    pub async fn archived(self) {
        self.archived.await;
    }
}

/// How a replay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replayed {
    /// A worker answered with this status.
    Answered(u16),
    /// A worker gave it up; it is a dead letter again.
    Failed(FailureKind),
    /// Two holders died with it; it is a dead letter again.
    Poison,
    /// It was not answered in time.
    Expired,
    /// The deployment, or this gateway, went away.
    Withdrawn,
}
