use std::num::NonZeroU32;

use super::Mib;
use crate::Shape;

/// The terms on which the fleet runs a deployment, as far as scores and memory need them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Terms {
    /// The memory that is reserved before it is loaded, over all its devices.
    pub memory: Mib,
    /// How many devices it is spread over, evenly; 0 counts as 1.
    pub devices: u32,
    /// The most workers that may serve it; `None` = no cap.
    pub max_workers: Option<NonZeroU32>,
    /// Whether every worker serves it always. No cap holds for it.
    pub pinned: bool,
    /// Which workers it is for.
    pub shape: Shape,
    /// Whether it yields to work that is not.
    pub preemptible: bool,
}

impl Terms {
    /// What it takes of each of its devices.
    pub const fn share(&self) -> Mib {
        self.memory.share(self.spread())
    }

    /// How many devices it is spread over; 1 or more.
    pub const fn spread(&self) -> usize {
        if self.devices == 0 {
            1
        } else {
            self.devices as usize
        }
    }

    /// The cap on workers, unless it is pinned.
    pub fn cap(&self) -> Option<usize> {
        let cap = self.max_workers.filter(|_| !self.pinned)?;
        Some(cap.get() as usize)
    }
}
