//! Room for instances of the tier `local` on this machine's GPUs: who gets it,
//! and who makes it for whom.
//!
//! The memory is the same cache as a worker's of the shared fleet, so [`admit`]
//! is asked. What differs is who waits: requests of a deployment that no other
//! tier serves.

use std::time::Duration;

use crate::Moment;
use crate::fleet::{Admission, Device, Eviction, Resident, Terms, Want, admit};

/// How long work for what holds the memory goes before a deployment that waits.
pub const FAIRNESS: Duration = Duration::from_secs(20);

/// A deployment that needs room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// What an instance of it takes.
    pub terms: &'a Terms,
    /// Since when its requests wait; `None` where another tier serves them, so
    /// that nobody makes room for it.
    pub waits_since: Option<Moment>,
}

/// Whether a claim gets room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Room<'a> {
    /// There is room on these devices.
    There {
        /// By index.
        devices: Vec<usize>,
    },
    /// These devices are set aside for it, and there is room once these have gone.
    Made {
        /// By index.
        devices: Vec<usize>,
        /// They get no more work, and go when what they have in hand has ended.
        leaving: Vec<&'a str>,
    },
    /// There is none now.
    None {
        /// When more may be asked of those who hold it; `None` = when one of them goes.
        until: Option<Moment>,
    },
    /// It fits on no device, whoever goes.
    Never,
}

/// Whether `claim` gets room at `now` beside `residents`.
///
/// Who has waited makes others go: those that are idle and have stayed for the
/// minimum residence at once, any other once it has waited for [`FAIRNESS`]. So
/// requests that keep coming for what is there hold nobody up for longer than
/// that and what was in hand then. What is still starting is left to finish.
pub fn room<'a>(
    claim: Claim,
    devices: &[Device],
    residents: &[Resident<'a>],
    rules: &Eviction,
    now: Moment,
) -> Room<'a> {
    let want = |starving| Want {
        terms: claim.terms,
        starving,
    };
    let Some(since) = claim.waits_since else {
        let kept: Vec<Resident> = residents.iter().map(pinned).collect();
        return match admit(&want(false), devices, &kept, rules, now) {
            Admission::Fits { devices } => Room::There { devices },
            _ => Room::None { until: None },
        };
    };
    let due = since + FAIRNESS;
    match admit(&want(false), devices, residents, rules, now) {
        Admission::Wait { until } if now < due => {
            let until = until.map_or(due, |until| until.min(due));
            Room::None { until: Some(until) }
        }
        Admission::Wait { .. } => {
            let idle: Vec<Resident> = residents.iter().map(as_if_idle).collect();
            given(admit(&want(true), devices, &idle, rules, now))
        }
        admission => given(admission),
    }
}

fn given(admission: Admission<'_>) -> Room<'_> {
    match admission {
        Admission::Fits { devices } => Room::There { devices },
        Admission::Evict {
            devices,
            idle,
            yielding,
        } => Room::Made {
            devices,
            leaving: idle.into_iter().chain(yielding).collect(),
        },
        Admission::Wait { until } => Room::None { until },
        Admission::Never => Room::Never,
    }
}

fn pinned<'a>(resident: &Resident<'a>) -> Resident<'a> {
    Resident {
        pinned: true,
        ..*resident
    }
}

fn as_if_idle<'a>(resident: &Resident<'a>) -> Resident<'a> {
    Resident {
        in_flight: 0,
        ..*resident
    }
}

#[cfg(test)]
mod tests;
