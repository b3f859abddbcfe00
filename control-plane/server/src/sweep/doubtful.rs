//! What lists lack that are not believed: looked at one by one.

use std::sync::Arc;
use std::time::Duration;

use thermocline_provider::{Provider, ProviderInstance, ProviderState};

use super::Memory;
use crate::control::ControlPlane;
use crate::instance::Instance;
use crate::provider::Registered;

/// Looks in one pass.
const MOST: usize = 10;
/// Between two passes that look.
const EVERY: Duration = Duration::from_secs(30);

impl ControlPlane {
    /// Asks for some of what the lists of `provider` lack by its id. What it
    /// does not know either, and where nobody answers, is missed no more once
    /// the brake has held long enough; what it knows proves its lists wrong.
    pub(super) async fn look_at_doubtful(&self, provider: &Registered, memory: &mut Memory) {
        let now = self.clock.now();
        let (next, last) = &mut memory.doubts;
        let Some((mut missing, told)) = provider.doubtful().filter(|_| now >= *next) else {
            return;
        };
        *next = now + EVERY;
        // Round and round, so that none is looked at never.
        let looked_at = missing.partition_point(|id| id <= last);
        missing.rotate_left(looked_at);
        for id in missing.into_iter().take(MOST) {
            *last = id.clone();
            let Ok(found) = provider.adapter.get(&id).await else {
                continue;
            };
            match found.filter(|seen| self.is_ours(seen)) {
                Some(seen) if seen.state == ProviderState::Stopping => {}
                Some(_) => provider.contradicts(&id),
                None if told && self.is_silent(provider, &id).await => provider.is_rid_of(&id),
                None => {}
            }
        }
    }

    fn is_ours(&self, seen: &ProviderInstance) -> bool {
        seen.owner == self.owner && seen.state != ProviderState::Gone
    }

    /// Whether nobody answers where `id` was; nobody is asked where its address
    /// is not known, or where a person has deleted it: that is a word, too.
    async fn is_silent(&self, provider: &Registered, id: &str) -> bool {
        let Some(instance) = self.known_as(provider, id).filter(|i| !i.is_released()) else {
            return true;
        };
        let deployment = self.deployment(&instance.request.deployment);
        let (Some(deployment), Some(address)) = (deployment, instance.address()) else {
            return true;
        };
        let ready = deployment.with_spec(|spec| spec.health.ready.clone());
        !self.probe.is_there(&address, &ready).await
    }

    fn known_as(&self, provider: &Registered, id: &str) -> Option<Arc<Instance>> {
        let index = self.index();
        let known = |instance: &&Arc<Instance>| {
            instance.provider.name == provider.name && instance.state().provider_id() == Some(id)
        };
        index.values().find(known).cloned()
    }
}
