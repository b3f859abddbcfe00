use std::sync::Arc;

use thermocline_policy::InstanceState;
use thermocline_provider::{Address, Provider};
use thermocline_store::InstanceChanges;

use super::Instance;
use super::serve::ADDRESS_LOOK;
use crate::control::ControlPlane;
use crate::deployment::Controlled;

impl ControlPlane {
    /// What else of its provider is at `address`, as the provider still says. One that was
    /// there, and of which the provider says so no more, has lost it: clouds
    /// give addresses away again sooner than a list tells.
    pub(super) async fn other_at(
        self: &Arc<Self>,
        instance: &Instance,
        address: &Address,
    ) -> Option<Arc<Instance>> {
        for other in self.others_at(instance, address) {
            let Some(id) = other.state().provider_id().map(str::to_owned) else {
                continue;
            };
            match other.provider.adapter.get(&id).await {
                Err(_) => return Some(other),
                Ok(Some(seen)) if other.is(&seen) && seen.address.as_ref() == Some(address) => {
                    return Some(other);
                }
                Ok(_) => {
                    self.lost_instance(&other, "its address is another instance's now")
                        .await;
                }
            }
        }
        None
    }

    /// Says whose address it is that the instance was given, once, and waits for
    /// either of them to get another.
    pub(super) async fn wait_for_address(
        &self,
        deployment: &Controlled,
        instance: &Instance,
        other: &Instance,
    ) {
        let why = format!("its address is already that of {}", other.id);
        if instance.row().detail != why {
            tracing::warn!(
                instance = instance.id,
                other = other.id,
                "two instances at one address"
            );
            let changes = InstanceChanges {
                detail: Some(why.clone()),
                ..InstanceChanges::default()
            };
            self.amend(deployment, instance, changes).await;
            self.publish(deployment);
            self.tell_instance(deployment, instance, "no_address", &why);
        }
        self.pause(instance, ADDRESS_LOOK).await;
    }

    fn others_at(&self, instance: &Instance, address: &Address) -> Vec<Arc<Instance>> {
        let serves = |other: &Instance| {
            let state = other.state();
            state.is_ready() || matches!(state, InstanceState::Draining { .. })
        };
        let index = self.index();
        let others = index.values().filter(|other| {
            other.id != instance.id
                && other.provider.name == instance.provider.name
                && serves(other)
                && other.own_address().as_ref() == Some(address)
        });
        others.cloned().collect()
    }
}
