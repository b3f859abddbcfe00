use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use thermocline_policy::{InstanceState, Tier};
use thermocline_provider::{InstanceRequest, Provider};

use crate::control::ControlPlane;
use crate::instance::Instance;
use crate::provider::Registered;

/// A lifetime is renewed so many times before it would end.
const RENEWALS: u32 = 4;
/// Renewals at a time.
const AT_ONCE: usize = 8;

impl ControlPlane {
    /// How long a pod of `provider` lives without this server; `None` = for ever.
    pub(crate) fn lifetime(&self, provider: &Registered) -> Option<Duration> {
        let absence = self.budgets.max_absence();
        let limited = provider.has_lifetimes() == Some(true) && !absence.is_zero();
        limited.then_some(absence)
    }

    /// `request` with the lifetime of a pod, where its provider can limit it.
    pub(crate) async fn mortal(
        &self,
        instance: &Instance,
        mut request: InstanceRequest,
    ) -> InstanceRequest {
        if instance.tier == Tier::Pod {
            if instance.provider.has_lifetimes().is_none() {
                instance.provider.learn().await;
            }
            let lifetime = self.lifetime(&instance.provider);
            request.max_lifetime_s = lifetime.map_or(0, |lifetime| lifetime.as_secs());
        }
        request
    }

    /// Renews what of `provider` would end before long, though it is wanted.
    pub(super) async fn renew_lifetimes(&self, provider: &Arc<Registered>) {
        if provider.has_lifetimes() != Some(true) {
            return;
        }
        // Zero where the configuration limits none: what an earlier one limited
        // is told so once.
        let lifetime = self.lifetime(provider).unwrap_or_default();
        let pods = self.pods_of(provider).into_iter();
        let due = pods.filter_map(|pod| Some((self.is_due(&pod, lifetime)?, pod)));
        // Together: one that is not answered holds none of the others up.
        stream::iter(due)
            .for_each_concurrent(AT_ONCE, |(id, pod)| async move {
                self.renew(&pod, &id, lifetime).await;
            })
            .await;
    }

    fn pods_of(&self, provider: &Registered) -> Vec<Arc<Instance>> {
        let index = self.index();
        let pods = index.values().filter(|instance| {
            instance.tier == Tier::Pod && instance.provider.name == provider.name
        });
        pods.cloned().collect()
    }

    /// The provider's id of an instance whose renewal is due.
    fn is_due(&self, instance: &Instance, lifetime: Duration) -> Option<String> {
        let state = instance.state();
        let wanted = !matches!(state, InstanceState::Stopping { .. } | InstanceState::Gone);
        let renewed = instance.renewed_at();
        let old = |at| self.clock.now().since(at) >= lifetime / RENEWALS;
        let due = renewed.is_none_or(|at| !lifetime.is_zero() && old(at));
        state
            .provider_id()
            .filter(|_| wanted && due)
            .map(str::to_owned)
    }

    async fn renew(&self, instance: &Instance, id: &str, lifetime: Duration) {
        let now = self.clock.now();
        match instance.provider.adapter.renew(id, lifetime).await {
            Ok(true) => instance.renewed(now),
            Ok(false) => {} // lists tell whether it is gone
            Err(error) => {
                tracing::warn!(instance = instance.id, %error, "its lifetime was not renewed");
            }
        }
    }
}
