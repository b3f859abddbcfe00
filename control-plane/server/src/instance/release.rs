use std::sync::Arc;

use thermocline_policy::{InstanceEvent, InstanceState};
use thermocline_store::InstanceChanges;

use super::Instance;
use crate::control::ControlPlane;
use crate::deployment::Controlled;

/// What is written down of an instance that a person deleted.
const BY_A_PERSON: &str = "deleted by a person";

impl ControlPlane {
    /// Takes an instance out for good: one that serves drains first, any other
    /// is deleted at once.
    pub(crate) async fn release(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
    ) {
        if !instance.state().is_ready() {
            return match instance.state() {
                InstanceState::Stopping { .. } | InstanceState::Gone => {}
                _ => drop(self.end(deployment, instance, BY_A_PERSON).await),
            };
        }
        let changes = InstanceChanges {
            detail: Some(BY_A_PERSON.to_owned()),
            ..InstanceChanges::default()
        };
        self.advance(deployment, instance, InstanceEvent::Drain, changes)
            .await;
        self.nudge(deployment);
    }
}

impl Instance {
    /// Whether a person wants it gone: it is never given work again.
    pub(crate) fn is_released(&self) -> bool {
        self.known().row.detail == BY_A_PERSON
    }
}
