//! What a list says of an instance that is driven.

use std::sync::Arc;

use thermocline_policy::InstanceState;
use thermocline_provider::{Provider, ProviderInstance, ProviderState};

use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::instance::Instance;

impl ControlPlane {
    /// Takes up what a list says: an id that no create told, another price, an
    /// end, an address that is another's.
    pub(super) async fn look_at_known(
        self: &Arc<Self>,
        instance: &Arc<Instance>,
        seen: &ProviderInstance,
    ) {
        let Some(deployment) = self.deployment(&instance.request.deployment) else {
            return;
        };
        match instance.state() {
            InstanceState::Intended => self.found(&deployment, instance, seen).await,
            _ => self.follow_price(&deployment, instance, seen).await,
        }
        match has_ended(seen) {
            true => self.look_at_ended(&deployment, instance, seen).await,
            false => self.look_at_address(&deployment, instance, seen).await,
        }
    }

    /// One that serves, but is listed as ended: so it is where a look at it
    /// alone says the same.
    async fn look_at_ended(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        seen: &ProviderInstance,
    ) {
        if !serves(instance) {
            return;
        }
        let Ok(Some(again)) = instance.provider.adapter.get(&seen.id).await else {
            return; // the next list will tell
        };
        if has_ended(&again) {
            let why = match again.detail.is_empty() {
                true => "it ended",
                false => &again.detail,
            };
            self.lost(deployment, instance, why).await;
        }
    }

    pub(crate) async fn lost_instance(self: &Arc<Self>, instance: &Arc<Instance>, why: &str) {
        if let Some(deployment) = self.deployment(&instance.request.deployment) {
            self.lost(&deployment, instance, why).await;
        }
    }
}

fn has_ended(seen: &ProviderInstance) -> bool {
    matches!(seen.state, ProviderState::Failed | ProviderState::Gone)
}

fn serves(instance: &Instance) -> bool {
    matches!(
        instance.state(),
        InstanceState::Ready { .. } | InstanceState::Draining { .. }
    )
}
