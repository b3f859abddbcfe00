use std::sync::Arc;

use thermocline_policy::InstanceState;
use thermocline_provider::{Address, Provider};

use super::Instance;
use crate::control::ControlPlane;

impl ControlPlane {
    /// Whether no other instance of its provider is at `address`. One that was
    /// there, and of which the provider says so no more, has lost it: clouds
    /// give addresses away again sooner than a list tells.
    pub(super) async fn is_alone_at(
        self: &Arc<Self>,
        instance: &Instance,
        address: &Address,
    ) -> bool {
        for other in self.others_at(instance, address) {
            let Some(id) = other.state().provider_id().map(str::to_owned) else {
                continue;
            };
            match other.provider.adapter.get(&id).await {
                Err(_) => return false,
                Ok(Some(seen)) if other.is(&seen) && seen.address.as_ref() == Some(address) => {
                    return false;
                }
                Ok(_) => {
                    self.lost_instance(&other, "its address is another instance's now")
                        .await;
                }
            }
        }
        true
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
