use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{InstanceState, Moment};
use thermocline_provider::{Provider, ProviderState};

use super::Instance;
use crate::control::ControlPlane;
use crate::deployment::Controlled;

/// Between the two looks that have to find nothing.
const AGAIN: Duration = Duration::from_secs(1);

impl ControlPlane {
    /// Whether its provider says that the instance `id` is not there, which the request
    /// plane missed. One that is known not to answer is not asked.
    pub(crate) async fn is_missing(&self, id: &str) -> bool {
        let Some(instance) = self.missed_instance(id) else {
            return true; // its absence was confirmed
        };
        is_unknown(&instance, self.clock.now()).await
    }

    /// Whether a missing instance is there no more, as when somebody deleted it by hand:
    /// its provider says so once more. Then it takes no more work, and another is begun
    /// in its place at once.
    pub(crate) async fn is_gone(self: &Arc<Self>, id: &str) -> bool {
        let Some(instance) = self.missed_instance(id) else {
            return true;
        };
        self.clock.sleep(AGAIN).await;
        if !is_unknown(&instance, self.clock.now()).await {
            return false;
        }
        if let Some(deployment) = self.deployment(&instance.request.deployment) {
            self.begin_another(&deployment, &instance).await;
        }
        !instance.state().is_ready()
    }

    fn missed_instance(&self, id: &str) -> Option<Arc<Instance>> {
        self.index().get(id).cloned()
    }

    async fn begin_another(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
    ) {
        if !serves(instance) {
            return; // its driver sees to it
        }
        instance.set_unknown(true);
        self.lost(deployment, instance, "it vanished").await;
        let tier = instance.tier;
        if deployment.live.current() == Some(tier) && !instance.state().is_ready() {
            self.bring_up(deployment, tier);
        }
    }
}

fn serves(instance: &Instance) -> bool {
    let state = instance.state();
    state.is_ready() || matches!(state, InstanceState::Draining { .. })
}

/// Whether its provider says at `now` that there is no such instance.
async fn is_unknown(instance: &Instance, now: Moment) -> bool {
    let state = instance.state();
    let Some(id) = state.provider_id().filter(|_| !state.is_starting()) else {
        return false; // its driver sees to it
    };
    if !instance.is_visible(now) || instance.provider.silent_since().is_some() {
        return false;
    }
    let found = instance.provider.adapter.get(id).await;
    let gone = |state| matches!(state, ProviderState::Gone | ProviderState::Failed);
    found.is_ok_and(|found| found.is_none_or(|it| !instance.is(&it) || gone(it.state)))
}
