//! Stopping and removing, in the background.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thermocline_provider::ProviderError;

use crate::Limits;
use crate::daemon::Daemon;

/// The containers that we are ending now, by id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deletions(Arc<Mutex<HashSet<String>>>);

impl Deletions {
    /// Whether `id` is being ended.
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.lock().contains(id)
    }

    /// The right to end `id`; `None` when somebody does already.
    pub(crate) fn begin(&self, id: &str) -> Option<Deletion> {
        let deletion = || Deletion {
            deletions: self.clone(),
            id: id.to_owned(),
        };
        self.lock().insert(id.to_owned()).then(deletion)
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One container's end; there is one at a time for each.
#[derive(Debug)]
pub(crate) struct Deletion {
    deletions: Deletions,
    id: String,
}

impl Deletion {
    /// Stops the container, with patience, and removes it.
    ///
    /// A failure leaves it to the next delete: whoever wants it gone asks until
    /// it is.
    pub(crate) async fn run(self, daemon: Daemon, limits: Limits) {
        let stop = async { Ok(daemon.stop(&self.id, limits.grace).await?) };
        // However the stop went, the removal kills what still runs.
        let _ = daemon.within(limits.grace + limits.call, stop).await;
        let removed = daemon.within(limits.create, self.remove(&daemon)).await;
        if let Err(error) = removed {
            tracing::warn!(%error, "a container could not be removed");
        }
    }

    async fn remove(&self, daemon: &Daemon) -> Result<(), ProviderError> {
        match daemon.remove(&self.id, true).await {
            // Gone, or somebody else is removing it.
            Err(fault) if fault.is_missing() || fault.is_conflict() => Ok(()),
            removed => Ok(removed?),
        }
    }
}

impl Drop for Deletion {
    fn drop(&mut self) {
        self.deletions.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_end_at_a_time_for_each_container() {
        let deletions = Deletions::default();
        let first = deletions.begin("a").unwrap();
        assert!(deletions.begin("a").is_none());
        assert!(deletions.begin("b").is_some());
        drop(first);
        assert!(!deletions.contains("a"));
    }
}
