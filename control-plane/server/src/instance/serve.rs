use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{InstanceEvent, InstanceState, Moment};
use thermocline_provider::Provider;
use thermocline_store::InstanceChanges;

use super::Instance;
use crate::control::ControlPlane;
use crate::deployment::Controlled;

/// How often a draining instance without a backend's news is looked at.
const DRAIN_LOOK: Duration = Duration::from_millis(250);
/// How often a provider is asked for an address that is not known.
pub(super) const ADDRESS_LOOK: Duration = Duration::from_secs(5);

impl ControlPlane {
    /// Watches over an instance that serves or drains, until it does neither.
    pub(super) async fn watch_over(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
    ) {
        let mut failures = 0;
        loop {
            if self.drain.is_cancelled() {
                return;
            }
            match instance.state() {
                InstanceState::Ready { .. } if instance.address().is_none() => {
                    self.learn_address(deployment, instance).await;
                    continue;
                }
                InstanceState::Ready { .. } => {}
                InstanceState::Draining { .. } => {
                    self.look_at_drain(deployment, instance).await;
                    continue;
                }
                _ => return,
            }
            let live = deployment.with_spec(|spec| spec.health.live.clone());
            let Some(live) = live else {
                self.pause(instance, Duration::from_secs(3600)).await;
                continue;
            };
            self.pause(instance, live.interval).await;
            let Some(address) = instance.address() else {
                continue;
            };
            failures = match self.probe.is_alive(&address, &live).await {
                true => 0,
                false => failures + 1,
            };
            if failures >= live.failures {
                return self
                    .lost(deployment, instance, "it failed its liveness checks")
                    .await;
            }
        }
    }

    /// Asks the provider for an address that cannot be read, as when the key
    /// that sealed it was lost; rests if it says none.
    async fn learn_address(&self, deployment: &Controlled, instance: &Instance) {
        self.ask_address(deployment, instance).await;
        if instance.address().is_none() {
            self.pause(instance, ADDRESS_LOOK).await;
        }
    }

    async fn ask_address(&self, deployment: &Controlled, instance: &Instance) {
        let Some(id) = instance.state().provider_id().map(str::to_owned) else {
            return;
        };
        match instance.provider.adapter.get(&id).await {
            Ok(Some(seen)) if instance.is(&seen) => {
                if let Some(address) = seen.address {
                    self.secrets.hide_tokens(&address);
                    instance.learn_address(address);
                    self.restore_backend(deployment, instance);
                    self.publish(deployment);
                    deployment.bump();
                }
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(instance = instance.id, %error, "no news of its address"),
        }
    }

    /// A drain ends in a pass; this only sees to it that one comes when the
    /// last request has ended.
    async fn look_at_drain(&self, deployment: &Arc<Controlled>, instance: &Instance) {
        let ended = deployment.live.changed.notified();
        if instance
            .backend()
            .is_none_or(|backend| backend.in_flight() == 0)
        {
            self.nudge(deployment);
            self.pause(instance, DRAIN_LOOK).await;
            return;
        }
        let _rest = instance.rest(Moment::NEVER);
        tokio::select! {
            () = ended => {}
            () = instance.nudge.notified() => {}
            () = self.drain.cancelled() => {}
        }
    }

    /// An instance that served does so no more: no work for it, and a
    /// successor where one is wanted.
    pub(crate) async fn lost(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        why: &str,
    ) {
        if self.end(deployment, instance, why).await {
            let text = format!("{} instance was lost: {why}", instance.tier);
            self.tell_instance(deployment, instance, "lost", &text);
        }
    }

    /// Has an instance deleted, for `why`, whatever it does; false where it is already
    /// being so, or that could not be written down.
    pub(crate) async fn end(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        why: &str,
    ) -> bool {
        if matches!(
            instance.state(),
            InstanceState::Stopping { .. } | InstanceState::Gone
        ) {
            return false;
        }
        let changes = InstanceChanges {
            detail: Some(why.to_owned()),
            ..InstanceChanges::default()
        };
        let ends = self
            .advance(deployment, instance, InstanceEvent::Stop, changes)
            .await;
        if ends {
            self.nudge(deployment);
        }
        ends
    }
}
