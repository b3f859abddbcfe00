use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{InstanceEvent, InstanceState};
use thermocline_provider::ProviderError;
use thermocline_store::InstanceChanges;
use thermocline_table::StartFailed;

use super::Instance;
use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::provider::no_credit;

impl ControlPlane {
    /// Drives an instance until it is confirmed to be gone. Begins wherever the
    /// instance stands, so that a crash between any two steps is no special case.
    pub(crate) async fn drive(
        self: Arc<Self>,
        deployment: Arc<Controlled>,
        instance: Arc<Instance>,
    ) {
        self.make_again(&deployment, &instance).await;
        loop {
            if self.drain.is_cancelled() {
                return; // nothing that runs is stopped by a shutdown
            }
            match instance.state() {
                InstanceState::Intended => self.make_exist(&deployment, &instance).await,
                InstanceState::Starting { provider_id } => {
                    self.await_ready(&deployment, &instance, &provider_id).await;
                }
                InstanceState::Ready { .. } | InstanceState::Draining { .. } => {
                    self.watch_over(&deployment, &instance).await;
                }
                InstanceState::Stopping { provider_id } => {
                    self.make_absent(&deployment, &instance, provider_id).await;
                }
                InstanceState::Gone => break,
            }
        }
        self.index().remove(&instance.id);
        self.machine.release(&instance.id);
        deployment.remove_instance(&instance.id);
        self.heed_budgets();
        self.nudge(&deployment);
    }

    /// Waits for `delay`, a nudge, or the shutdown.
    pub(super) async fn pause(&self, instance: &Instance, delay: Duration) {
        let until = self.clock.now() + delay;
        let _rest = instance.rest(until);
        tokio::select! {
            () = self.clock.sleep_until(until) => {}
            () = instance.nudge.notified() => {}
            () = self.drain.cancelled() => {}
        }
    }

    /// Gives a start up: the reason is remembered, the instance deleted.
    pub(super) async fn give_up(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        error: StartFailed,
    ) {
        if !instance.state().is_starting() {
            return;
        }
        let changes = InstanceChanges {
            detail: Some(error.detail.clone()),
            ..InstanceChanges::default()
        };
        if !self
            .advance(deployment, instance, InstanceEvent::Stop, changes)
            .await
        {
            self.pause(instance, Duration::from_secs(1)).await;
            return;
        }
        let text = format!("{} start failed: {}", instance.tier, error.detail);
        self.tell_instance(deployment, instance, "failed", &text);
        self.start_failed(deployment, instance.tier, error);
        self.nudge(deployment);
    }
}

/// What a request is told of a provider's refusal.
pub(super) fn refused(error: &ProviderError) -> StartFailed {
    use thermocline_provider::ProviderErrorKind as Kind;
    let retry_after = match error.kind {
        Kind::RateLimited(Some(delay)) => delay,
        _ => Duration::ZERO,
    };
    let detail = match error.kind {
        Kind::NoCredit => no_credit(&error.detail),
        _ => error.detail.clone(),
    };
    StartFailed {
        code: error.kind.code(),
        detail,
        retry_after,
    }
}
