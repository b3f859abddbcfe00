use thermocline_store::InstanceChanges;

use super::Instance;
use crate::control::ControlPlane;
use crate::deployment::Controlled;

impl ControlPlane {
    /// Writes down what is new of an instance that stays in its state; whether it was.
    pub(super) async fn amend(
        &self,
        deployment: &Controlled,
        instance: &Instance,
        changes: InstanceChanges,
    ) -> bool {
        let _one = instance.writing.lock().await;
        let state = instance.state();
        self.write(deployment, instance, &state, changes).await
    }
}
