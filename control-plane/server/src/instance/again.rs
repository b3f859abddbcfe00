use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::InstanceState;
use thermocline_provider::Provider;

use super::Instance;
use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::launch::with_secrets;

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

impl ControlPlane {
    /// Makes an instance of an earlier process exist again, under its key, at a
    /// provider that knows only what this process has told it.
    pub(super) async fn make_again(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
    ) {
        let adapter = &instance.provider.adapter;
        use InstanceState::{Draining, Ready, Starting};
        let lasts = |state| matches!(state, Starting { .. } | Ready { .. } | Draining { .. });
        let mut pause = FIRST_PAUSE;
        while adapter.forgets() && lasts(instance.state()) && !self.drain.is_cancelled() {
            let made = match with_secrets(&instance.request, deployment, &self.secrets) {
                Ok(request) => adapter.create(&instance.id, &request).await,
                Err(missing) => Err(missing),
            };
            match made {
                Ok(_) => return,
                Err(error) => {
                    tracing::warn!(instance = instance.id, %error, "it could not be made again");
                }
            }
            self.pause(instance, pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
