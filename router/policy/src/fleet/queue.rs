use std::time::Duration;

use super::{Identity, Mib, Shape, Terms};
use crate::Moment;

/// What a worker says of itself in its reports, as far as others need it to
/// order each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub id: Identity,
    /// Which work it is for.
    pub shape: Shape,
    /// Its memory for models.
    pub memory: Mib,
    /// What of that was free.
    pub free: Mib,
    /// Whether all its permits were taken.
    pub busy: bool,
}

/// A worker that looks for work.
#[derive(Debug, Clone, Copy)]
pub struct WorkerView<'a> {
    /// What it last reported of itself: as old as what others know of it.
    pub reported: Peer,
    /// What its largest models may take of each device: its memory without what
    /// pinned models hold. A worker without a GPU has one device, its main memory.
    pub devices: &'a [Mib],
    /// How many cold queues it may join now: what its [`Bucket`](super::Bucket) has.
    pub cold: u32,
    /// The other workers that take jobs, by their last reports.
    pub peers: &'a [Peer],
}

/// A queue, as one worker sees it.
#[derive(Debug, Clone, Copy)]
pub struct QueueView<'a> {
    /// The deployment.
    pub queue: &'a str,
    /// [`Identity::of`] that name.
    pub id: Identity,
    /// The terms in force; `None` once the deployment is gone.
    pub terms: Option<&'a Terms>,
    /// Jobs that nobody has claimed, over all gateways.
    pub waiting: u32,
    /// How long the oldest of them has waited.
    pub oldest: Duration,
    /// The other workers that serve it, by their last reports. Who has only joined
    /// it and neither has nor loads its model serves nobody.
    pub holders: &'a [Identity],
    /// Those of the other workers that may not pull it.
    pub barred: &'a [Identity],
    /// Whether this worker holds the model.
    pub residence: Residence,
    /// Whether this worker serves the queue.
    pub subscribed: bool,
    /// When this worker last ran a job of it.
    pub last_served: Option<Moment>,
}

/// Whether a worker holds a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Residence {
    /// It would have to be loaded.
    #[default]
    Absent,
    /// It is being loaded.
    Loading,
    /// It answers at once.
    Resident,
}
