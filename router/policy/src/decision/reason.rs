use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a tier was chosen, refused or kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A person named it.
    Forced,
    /// The user pinned an instance of their own.
    Dedicated,
    /// It fits on this machine.
    LocalFits,
    /// There is no serverless tier.
    NoServerless,
    /// A warm pod stays while the rate is not below `demote_rps`.
    PodWarm,
    /// The rate is at `promote_rps` or above.
    Promote,
    /// The rate is below `promote_rps`.
    BelowPromote,
    /// Serverless would miss the objective.
    Objective,
    /// The pod stopped for want of work, and nothing has come since.
    Idle,
    /// The rate is at `promote_rps` or above, but there is no pod tier.
    NoPod,
    /// The pod boots; serverless serves meanwhile.
    PodBooting,
    /// Nothing could be started there.
    NoCapacity,
    /// A budget or a ceiling refuses the tier that it would be, or this one.
    Budget,
    /// Less than a window of data: no demotion.
    Unobserved,
    /// Work in hand: no demotion.
    Busy,
    /// The last transition is too recent.
    Hold,
}

impl Reason {
    /// The word used in headers, REST and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Forced => "forced",
            Reason::Dedicated => "dedicated",
            Reason::LocalFits => "local_fits",
            Reason::NoServerless => "no_serverless",
            Reason::PodWarm => "pod_warm",
            Reason::Promote => "promote",
            Reason::BelowPromote => "below_promote",
            Reason::Objective => "objective",
            Reason::Idle => "idle",
            Reason::NoPod => "no_pod",
            Reason::PodBooting => "pod_booting",
            Reason::NoCapacity => "no_capacity",
            Reason::Budget => "budget",
            Reason::Unobserved => "unobserved",
            Reason::Busy => "busy",
            Reason::Hold => "hold",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
