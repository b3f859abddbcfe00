use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::InstanceState;
use thermocline_provider::{Provider, ProviderState};

use super::Instance;
use crate::control::ControlPlane;

/// Between the two looks that have to find nothing.
const AGAIN: Duration = Duration::from_secs(1);

impl ControlPlane {
    /// Looks whether the instance `id`, which the request plane missed, is there
    /// at all: one that is not, as when somebody deleted it by hand, takes no
    /// more work, and another comes in its place.
    pub(crate) async fn look_for_missed(self: Arc<Self>, id: &str) {
        let Some(instance) = self.index().get(id).cloned() else {
            return;
        };
        if !self.is_unknown(&instance).await {
            return;
        }
        self.clock.sleep(AGAIN).await;
        if self.is_unknown(&instance).await {
            self.lost_instance(&instance, "it vanished").await;
        }
    }

    /// Whether its provider says that there is no such instance.
    async fn is_unknown(&self, instance: &Instance) -> bool {
        let InstanceState::Ready { provider_id } = instance.state() else {
            return false; // its driver sees to it
        };
        if !instance.is_visible(self.clock.now()) {
            return false;
        }
        let found = instance.provider.adapter.get(&provider_id).await;
        let gone = |state| matches!(state, ProviderState::Gone | ProviderState::Failed);
        found.is_ok_and(|found| found.is_none_or(|it| !instance.is(&it) || gone(it.state)))
    }
}
