use std::sync::Arc;

use serde_json::json;
use thermocline_policy::{HostHeader, InstanceEvent, InstanceState};
use thermocline_provider::Address;
use thermocline_store::{InstanceChanges, InstanceRow};

use super::Instance;
use super::price::Readings;
use crate::capacity::backend;
use crate::control::ControlPlane;
use crate::deployment::Controlled;

impl ControlPlane {
    /// Moves an instance on: written down first, then in force. False when it
    /// could not be written; whoever asked will ask again.
    pub(crate) async fn advance(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        event: InstanceEvent,
        changes: InstanceChanges,
    ) -> bool {
        let _one = instance.writing.lock().await;
        let row = instance.row();
        let state = match row.state.clone().after(event) {
            Ok(state) => state,
            Err(error) => {
                tracing::error!(instance = instance.id, %error, "an impossible event");
                return false;
            }
        };
        let detail = changes.detail.clone();
        if !self.write(deployment, instance, &state, changes).await {
            return false;
        }
        let moved = row.state.as_str() != state.as_str();
        let why = detail.unwrap_or_else(|| row.detail.clone());
        self.cold_starts
            .moved(&instance.id, &state, &why, self.clock.now());
        if state.is_ready() {
            self.machine.ready(&instance.id, self.clock.now());
        }
        if state.is_ready() && instance.backend().is_none_or(|b| b.is_retired()) {
            self.restore_backend(deployment, instance);
        }
        self.publish(deployment);
        deployment.bump();
        instance.nudge.notify_one();
        if moved {
            let why = match why.is_empty() {
                true => why,
                false => format!(": {why}"),
            };
            let text = format!("{} instance is {}{why}", instance.tier, state.as_str());
            self.tell_instance(deployment, instance, state.as_str(), &text);
        }
        true
    }

    /// Writes down where it stands and what is new of it, then puts that in force;
    /// false where it could not be written.
    pub(super) async fn write(
        &self,
        deployment: &Controlled,
        instance: &Instance,
        state: &InstanceState,
        changes: InstanceChanges,
    ) -> bool {
        let (epoch, now) = (instance.row().epoch, self.clock.wall_micros());
        let written = self
            .store
            .advance(&instance.id, epoch, state, changes.clone(), now)
            .await;
        match written {
            Ok(Some(epoch)) => {
                instance.apply(state.clone(), epoch, changes, now);
                return true;
            }
            Ok(None) => self.read_again(deployment, instance).await,
            Err(error) => {
                tracing::warn!(instance = instance.id, %error, "a step could not be written down");
            }
        }
        false
    }

    /// Another writer has moved it on: what this process wanted to write is
    /// dropped, and what is written down is what it goes on from.
    async fn read_again(&self, deployment: &Controlled, instance: &Instance) {
        tracing::error!(instance = instance.id, "another writer has moved it on");
        match self.store.instance(&instance.id).await {
            Ok(row) => instance.stands_as(row.map(|row| {
                let address = self.address_of(&row);
                (row, address)
            })),
            Err(error) => {
                tracing::warn!(instance = instance.id, %error, "it could not be read again");
                return; // the next write will be as stale, and read it
            }
        }
        if instance.state().is_ready() {
            self.machine.ready(&instance.id, self.clock.now());
            self.restore_backend(deployment, instance);
        }
        self.publish(deployment);
        deployment.bump();
    }

    /// The address that a row holds.
    pub(crate) fn address_of(&self, row: &InstanceRow) -> Option<Address> {
        let address = self.secrets.open_address(&row.id, row.address.as_deref()?);
        if address.is_none() {
            tracing::warn!(instance = row.id, "its address cannot be read");
        }
        address
    }

    /// Makes the backend of an instance that has an address.
    pub(crate) fn restore_backend(&self, deployment: &Controlled, instance: &Instance) {
        let Some(address) = instance.address() else {
            return;
        };
        let usual = match address.own_host {
            true => HostHeader::Address,
            false => HostHeader::Keep,
        };
        let host = deployment.with_spec(|spec| spec.host_header(instance.tier));
        if let Some(backend) = backend(instance, &address, host.unwrap_or(usual)) {
            instance.set_backend(backend);
        }
    }

    /// Tells what happened to an instance.
    pub(crate) fn tell_instance(
        &self,
        deployment: &Controlled,
        instance: &Instance,
        what: &str,
        text: &str,
    ) {
        let row = instance.row();
        let body = json!({
            "instance": instance.id,
            "provider": instance.provider.name,
            "tier": instance.tier,
            "reason": row.detail,
        });
        let kind = format!("instance.{what}");
        self.events
            .tell(&kind, Some(&deployment.live.name), text, body);
    }
}

impl Instance {
    fn apply(&self, state: InstanceState, epoch: i64, changes: InstanceChanges, now: i64) {
        let mut known = self.known();
        if known.row.state.as_str() != state.as_str() {
            known.row.changed_at = now;
        }
        known.row.state = state;
        known.row.epoch = epoch;
        if let Some(address) = changes.address {
            known.row.address = Some(address);
        }
        if let Some(price) = changes.usd_per_hour {
            known.row.usd_per_hour = Some(price);
            known.readings = Readings::default();
        }
        if let Some(detail) = changes.detail {
            known.row.detail = detail;
        }
    }
}
