use thermocline_provider::fleet::FleetTally;

/// How a parked request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Answered,
    Failed,
    Poison,
    Expired,
    ClientLeft,
    /// It never got into the queue, or its deployment or this gateway went away.
    Withdrawn,
}

impl Ended {
    /// Counts it.
    pub(crate) fn count(self, tally: &mut FleetTally) {
        match self {
            Ended::Answered => tally.answered += 1,
            Ended::Failed => tally.failed += 1,
            Ended::Poison => tally.poisoned += 1,
            Ended::Expired => tally.expired += 1,
            Ended::ClientLeft => tally.disconnects += 1,
            Ended::Withdrawn => {}
        }
    }
}
