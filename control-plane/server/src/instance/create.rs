use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{InstanceEvent, InstanceState, Moment, NanoUsd, Tier};
use thermocline_provider::{
    Provider, ProviderError, ProviderErrorKind, ProviderInstance, ProviderState,
};
use thermocline_store::InstanceChanges;

use super::Instance;
use super::drive::refused;
use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::launch::with_secrets;

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The same where nobody was there to be asked: that this is no blip, and the next
/// tier's turn, is to be known as soon as it can be.
const LONGEST_UNREACHED: Duration = Duration::from_secs(1);

impl ControlPlane {
    /// Makes the provider create it. After an answer that says nothing about
    /// existence the same call with the same key is the way to look, since
    /// create is idempotent on the key.
    pub(super) async fn make_exist(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
    ) {
        let patience = deployment.with_spec(|spec| spec.health.start_timeout);
        let deadline = instance.since + patience;
        let mut pause = FIRST_PAUSE;
        while instance.state() == InstanceState::Intended && !self.drain.is_cancelled() {
            let adapter = &instance.provider.adapter;
            let result = match with_secrets(&instance.request, deployment, &self.secrets) {
                Ok(request) => {
                    let request = self.named_worker(deployment, instance, request);
                    let request = self.mortal(instance, request).await;
                    adapter.create(&instance.id, &request).await
                }
                Err(missing) => Err(missing),
            };
            let error = match result.and_then(|created| ours(instance, created)) {
                Ok(created) => return self.created(deployment, instance, created).await,
                Err(error) => error,
            };
            if !error.before_effect() {
                instance.doubt();
            }
            if !self.is_worth_another(instance, &error, deadline) {
                self.give_up(deployment, instance, refused(&error)).await;
                if !instance.is_doubtful() {
                    self.never_made(deployment, instance).await;
                }
                return;
            }
            tracing::warn!(instance = instance.id, %error, "a create was not answered");
            self.pause(instance, pause).await;
            pause = (pause * 2).min(match error.kind {
                ProviderErrorKind::Unreachable => LONGEST_UNREACHED,
                _ => LONGEST_PAUSE,
            });
        }
    }

    /// Whether the same create is to be tried again after `error`: until the
    /// deadline where nothing is known, and while a provider that cannot be
    /// reached may be back in a moment.
    fn is_worth_another(
        &self,
        instance: &Instance,
        error: &ProviderError,
        deadline: Moment,
    ) -> bool {
        let open = match error.kind {
            ProviderErrorKind::Unreachable => instance.provider.silent_since().is_none(),
            _ => !error.before_effect(),
        };
        open && self.clock.now() < deadline
    }

    async fn created(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        created: ProviderInstance,
    ) {
        // Until its id is written down: a refusal of the next call says nothing.
        instance.doubt();
        if !self.take_id(deployment, instance, created).await {
            // The id is asked for again: create returns what is there.
            self.pause(instance, Duration::from_secs(1)).await;
        }
    }

    /// A list shows what a create has made that was answered with an error: it is
    /// the provider's word that it exists, and is driven from there.
    pub(crate) async fn found(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        seen: &ProviderInstance,
    ) {
        let listed = instance.is(seen) && !seen.id.is_empty();
        if listed && instance.is_doubtful() && seen.state != ProviderState::Gone {
            self.take_id(deployment, instance, seen.clone()).await;
        }
    }

    /// Writes the id and the price of what was made down; false where that has to be
    /// tried again.
    async fn take_id(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        created: ProviderInstance,
    ) -> bool {
        let intended = instance.state() == InstanceState::Intended;
        if !intended {
            return true; // the other way of learning it was faster
        }
        let asked = instance.usd_per_hour();
        let event = InstanceEvent::Created {
            provider_id: created.id,
        };
        let changes = InstanceChanges {
            usd_per_hour: price(created.usd_per_hour),
            ..InstanceChanges::default()
        };
        if !self.advance(deployment, instance, event, changes).await {
            return false;
        }
        if let Some(why) = self.costs_too_much(deployment, instance, asked) {
            self.give_up(deployment, instance, why).await;
        }
        true
    }

    /// The provider said for certain that nothing was made.
    async fn never_made(self: &Arc<Self>, deployment: &Arc<Controlled>, instance: &Arc<Instance>) {
        let given_up = InstanceState::Stopping { provider_id: None };
        if instance.state() == given_up {
            self.confirmed_absent(deployment, instance).await;
        }
    }

    /// Its absence is confirmed: the row goes, and with it the place it held.
    pub(super) async fn confirmed_absent(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
    ) {
        if instance.tier == Tier::Pod {
            // What it has cost goes with it otherwise, should we be killed.
            self.post().await;
        }
        let event = InstanceEvent::AbsenceConfirmed;
        if !self
            .advance(deployment, instance, event, InstanceChanges::default())
            .await
        {
            return self.pause(instance, Duration::from_secs(1)).await;
        }
        let epoch = instance.row().epoch;
        if let Err(error) = self.store.forget_instance(&instance.id, epoch).await {
            // A row that says gone is left out at the next start.
            tracing::warn!(instance = instance.id, %error, "a row could not be dropped");
        }
    }
}

/// What a create returned, unless it is somebody else's or cannot be deleted
/// again: then nothing is known of what it made.
fn ours(instance: &Instance, created: ProviderInstance) -> Result<ProviderInstance, ProviderError> {
    if instance.is(&created) && !created.id.is_empty() {
        return Ok(created);
    }
    let detail = "the provider answered with an instance that is not ours";
    Err(ProviderError::new(ProviderErrorKind::Unavailable, detail))
}

/// A price as it is kept, where it is one.
pub(super) fn price(usd_per_hour: Option<f64>) -> Option<NanoUsd> {
    usd_per_hour.and_then(NanoUsd::price)
}
