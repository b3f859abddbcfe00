use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use thermocline_wire::fleet::{Ending, Refusal};

use crate::tally::Ended;

/// Ends that are remembered, so that who comes late learns why.
const REMEMBERED: usize = 50_000;

/// How requests that are gone ended.
#[derive(Default)]
pub(super) struct Tombstones {
    ends: HashMap<String, End>,
    order: VecDeque<String>,
}

struct End {
    ended: Ended,
    deployment: Arc<str>,
    /// The run that was in force.
    run: Option<String>,
}

impl Tombstones {
    pub(super) fn note(
        &mut self,
        id: &str,
        deployment: &Arc<str>,
        ended: Ended,
        run: Option<String>,
    ) {
        if self.order.len() >= REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ends.remove(&oldest);
        }
        self.order.push_back(id.to_owned());
        let deployment = deployment.clone();
        let end = End {
            ended,
            deployment,
            run,
        };
        self.ends.insert(id.to_owned(), end);
    }

    pub(super) fn deployment(&self, id: &str) -> Option<Arc<str>> {
        self.ends.get(id).map(|end| end.deployment.clone())
    }

    /// Whether `id` was given up while `run` was in force.
    pub(super) fn was_given_up(&self, id: &str, run: &str) -> bool {
        self.ends.get(id).is_some_and(|end| {
            matches!(end.ended, Ended::Failed | Ended::Poison) && end.run.as_deref() == Some(run)
        })
    }

    /// Why nothing more is taken of a job that is not parked.
    pub(super) fn refusal(&self, id: &str) -> Refusal {
        match self.ends.get(id).map(|end| end.ended) {
            Some(Ended::Answered | Ended::Failed) => Refusal::Answered,
            Some(Ended::Poison) => Refusal::Poison,
            Some(Ended::Expired) => Refusal::Expired,
            Some(Ended::ClientLeft) => Refusal::ClientLeft,
            Some(Ended::Withdrawn) | None => Refusal::Abandoned,
        }
    }
}

/// What the holder of a request that ended so is told.
pub(super) fn ending(ended: Ended) -> Ending {
    match ended {
        Ended::Answered | Ended::Failed | Ended::Poison => Ending::Settled,
        Ended::Expired => Ending::Expired,
        Ended::ClientLeft => Ending::ClientLeft,
        Ended::Withdrawn => Ending::Closing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ends_are_remembered_and_not_without_bound() {
        let (mut ends, deployment) = (Tombstones::default(), Arc::from("m"));
        for id in 0..=REMEMBERED {
            ends.note(&id.to_string(), &deployment, Ended::Expired, None);
        }
        assert_eq!(ends.refusal(&REMEMBERED.to_string()), Refusal::Expired);
        assert_eq!(ends.refusal("0"), Refusal::Abandoned);
        assert_eq!(ends.order.len(), ends.ends.len());
    }
}
