//! What the request plane and the control plane share: which deployments there
//! are, where their backends stand, and what is going on.
//!
//! The control plane writes, the request plane reads and counts. Neither waits
//! for the other: the map of deployments and each deployment's capacity are
//! immutable values behind an atomic pointer, counts are atomics.

mod backend;
mod capacity;
mod deployment;
mod gate;
mod in_flight;
mod ongoing;
mod sketch;
mod snapshot;
mod tail;
mod tally;
mod traffic;
mod wake;
mod warmth;

pub use backend::{Backend, BackendId, BackendPermit, Target};
pub use capacity::{Capacity, Pick, Pool};
pub use deployment::{Config, Deployment, Waiting, Watched};
pub use gate::{Entry, Gate, Permit, Queued};
pub use in_flight::{InFlight, Listed};
pub use ongoing::{Arrived, Ongoing, Stage};
pub use sketch::{Measured, Sketch};
pub use snapshot::{Snapshot, Table};
pub use tail::{Ended, Tail};
pub use tally::{Histogram, Outcome, Start, Tally};
pub use traffic::{Found, TierTraffic};
pub use wake::{GIVEN_UP, StartFailed, Wake, Wish};
