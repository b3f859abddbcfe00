use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use thermocline_wire::fleet::{Ending, Refusal};

use crate::excuse::{End, Excuse};

/// Ends that are remembered, so that who comes late learns why.
const REMEMBERED: usize = 50_000;

/// How requests that are gone ended.
#[derive(Default)]
pub(super) struct Tombstones {
    ends: HashMap<String, Tombstone>,
    order: VecDeque<String>,
}

struct Tombstone {
    end: End,
    deployment: Arc<str>,
    /// The run that was in force.
    run: Option<String>,
}

impl Tombstones {
    pub(super) fn note(&mut self, id: &str, deployment: &Arc<str>, end: End, run: Option<String>) {
        if self.order.len() >= REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ends.remove(&oldest);
        }
        self.order.push_back(id.to_owned());
        let deployment = deployment.clone();
        let tombstone = Tombstone {
            end,
            deployment,
            run,
        };
        self.ends.insert(id.to_owned(), tombstone);
    }

    pub(super) fn deployment(&self, id: &str) -> Option<Arc<str>> {
        self.ends.get(id).map(|end| end.deployment.clone())
    }

    /// Whether `id` was given up while `run` was in force.
    pub(super) fn was_given_up(&self, id: &str, run: &str) -> bool {
        use Excuse::{Failed, Poison, Undeliverable};
        let end = self.end_in(id, run);
        matches!(end, Some(End::Excused(Failed(_) | Poison | Undeliverable)))
    }

    /// Whether the result of `run` broke off.
    pub(super) fn broke_off(&self, id: &str, run: &str) -> bool {
        self.end_in(id, run) == Some(End::BrokeOff)
    }

    /// How `id` ended, if `run` was in force then.
    fn end_in(&self, id: &str, run: &str) -> Option<End> {
        let tombstone = self.ends.get(id);
        let in_force = tombstone.filter(|it| it.run.as_deref() == Some(run));
        in_force.map(|it| it.end)
    }

    /// Why nothing more is taken of a job that is not parked.
    pub(super) fn refusal(&self, id: &str) -> Refusal {
        let Some(end) = self.ends.get(id).map(|it| it.end) else {
            return Refusal::Abandoned;
        };
        match end {
            End::ClientLeft => Refusal::ClientLeft,
            End::Excused(Excuse::Poison) => Refusal::Poison,
            end => match ending(end) {
                Ending::Expired => Refusal::Expired,
                Ending::Closing => Refusal::Abandoned,
                _ => Refusal::Answered,
            },
        }
    }
}

/// What the holder of a request that ended so is told.
pub(super) fn ending(end: End) -> Ending {
    match end {
        End::ClientLeft => Ending::ClientLeft,
        End::Answered | End::BrokeOff => Ending::Settled,
        End::Excused(excuse) => match excuse {
            Excuse::Deadline | Excuse::ColdStart => Ending::Expired,
            Excuse::Failed(_) | Excuse::Poison | Excuse::Undeliverable => Ending::Settled,
            _ => Ending::Closing,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ends_are_remembered_and_not_without_bound() {
        let (mut ends, deployment) = (Tombstones::default(), Arc::from("m"));
        for id in 0..=REMEMBERED {
            ends.note(&id.to_string(), &deployment, Excuse::Deadline.into(), None);
        }
        assert_eq!(ends.refusal(&REMEMBERED.to_string()), Refusal::Expired);
        assert_eq!(ends.refusal("0"), Refusal::Abandoned);
        assert_eq!(ends.order.len(), ends.ends.len());
    }
}
