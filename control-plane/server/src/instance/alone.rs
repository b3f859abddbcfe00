use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::InstanceState;
use thermocline_provider::{Address, Provider, ProviderInstance};
use thermocline_store::InstanceChanges;
use thermocline_table::StartFailed;

use super::Instance;
use super::serve::ADDRESS_LOOK;
use crate::control::ControlPlane;
use crate::deployment::Controlled;

/// What is written down of one whose address was given away.
const GIVEN_AWAY: &str = "its address is another instance's now";

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
            match is_at(&other, address).await {
                Some(false) => self.lost_instance(&other, GIVEN_AWAY).await,
                Some(true) | None => return Some(other),
            }
        }
        None
    }

    /// Ends an instance that serves where one that serves longer is, as the list
    /// with `seen` and a look at the other say: the two became ready in one moment.
    pub(crate) async fn look_at_address(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        seen: &ProviderInstance,
    ) {
        let own = instance.own_address();
        let Some(address) = own.filter(|own| seen.address.as_ref() == Some(own)) else {
            return;
        };
        for other in self.others_at(instance, &address) {
            if !instance.state().is_ready() || !is_ready_longer(&other, instance) {
                continue;
            }
            match is_at(&other, &address).await {
                Some(true) => {
                    self.tell_clash(deployment, instance, &other);
                    self.end(deployment, instance, &taken_by(&other)).await;
                    let error = StartFailed {
                        code: "start_failed",
                        detail: taken_by(&other),
                        retry_after: Duration::ZERO,
                    };
                    self.start_failed(deployment, instance.tier, error);
                }
                Some(false) => self.lost_instance(&other, GIVEN_AWAY).await,
                None => {} // the next list will tell
            }
        }
    }

    /// Says whose address it is that the instance was given, once, and waits for
    /// either of them to get another; what was said.
    pub(super) async fn wait_for_address(
        &self,
        deployment: &Controlled,
        instance: &Instance,
        other: &Instance,
    ) -> String {
        let why = taken_by(other);
        if instance.row().detail != why {
            let changes = InstanceChanges {
                detail: Some(why.clone()),
                ..InstanceChanges::default()
            };
            self.amend(deployment, instance, changes).await;
            self.publish(deployment);
            self.tell_clash(deployment, instance, other);
        }
        self.pause(instance, ADDRESS_LOOK).await;
        why
    }

    fn tell_clash(&self, deployment: &Controlled, instance: &Instance, other: &Instance) {
        tracing::warn!(
            instance = instance.id,
            other = other.id,
            "two instances at one address"
        );
        self.tell_instance(deployment, instance, "no_address", &taken_by(other));
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

fn taken_by(other: &Instance) -> String {
    format!("its address is already that of {}", other.id)
}

/// Whether its provider says that it is at `address`; `None` = it does not answer.
async fn is_at(instance: &Instance, address: &Address) -> Option<bool> {
    let state = instance.state();
    let Some(id) = state.provider_id() else {
        return Some(false);
    };
    let found = instance.provider.adapter.get(id).await.ok()?;
    let there =
        |seen: ProviderInstance| instance.is(&seen) && seen.address.as_ref() == Some(address);
    Some(found.is_some_and(there))
}

/// Whether `one` became ready before `other`.
fn is_ready_longer(one: &Instance, other: &Instance) -> bool {
    let since = |it: &Instance| (it.row().changed_at, it.id.clone());
    one.state().is_ready() && since(one) < since(other)
}
