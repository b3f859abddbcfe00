//! What the shared fleet decides: which queues a worker serves, what its
//! memory holds, which job is next, what becomes of a failure, and how many
//! workers there should be.
//!
//! A worker decides for itself, from what it alone knows and from what others
//! reported a moment ago. Reports lag, so two workers may act on the same
//! demand at once; what they decide from is ordered alike for both, and a
//! second look at newer reports settles it (see [`subscriptions`]).

mod autoscale;
mod beyond;
mod bucket;
mod class;
mod failure;
mod fingerprint;
mod heat;
mod identity;
mod memory;
mod mib;
mod queue;
mod regroup;
mod score;
mod standing;
mod subscriptions;
mod terms;

pub use crate::Shape;
pub use autoscale::{PoolTerms, PoolView, Prewarm, Stabiliser, prewarm, workers_wanted};
pub use beyond::{Beyond, Candidate, beyond};
pub use bucket::Bucket;
pub use class::{Class, NotReplayable, may_replay};
pub use failure::{AfterFailure, Attempt, FailureKind, Patience, after_failure, classify};
pub use fingerprint::{Fingerprint, fingerprint};
pub use heat::Heat;
pub use identity::Identity;
pub use memory::{Admission, Device, Eviction, Resident, Shortage, Stage, Want, admit, shortage};
pub use mib::Mib;
pub use queue::{Peer, QueueView, Residence, WorkerView};
pub use regroup::{Regroup, Waiting};
pub use score::{Score, Scoring, score};
pub use standing::outranks;
pub use subscriptions::{Changes, Join, Leave, LeaveReason, subscriptions};
pub use terms::Terms;
