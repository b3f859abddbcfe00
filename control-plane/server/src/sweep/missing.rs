//! What is written down and is not found: at the provider, or in memory.

use std::collections::HashSet;
use std::sync::Arc;

use thermocline_policy::{InstanceState, Moment};
use thermocline_provider::{Provider, ProviderInstance, ProviderState};
use thermocline_store::InstanceRow;

use super::{LISTS, Memory};
use crate::control::ControlPlane;
use crate::instance::Instance;
use crate::provider::Registered;

impl ControlPlane {
    /// What should exist and was not listed: believed to be gone only after two
    /// complete lists and the provider's own word.
    pub(super) async fn look_for_missing(
        self: &Arc<Self>,
        provider: &Arc<Registered>,
        seen: &[ProviderInstance],
        began: Moment,
    ) {
        let expected: Vec<Arc<Instance>> = self
            .index()
            .values()
            .filter(|i| i.provider.name == provider.name && i.since < began)
            .filter(|i| !seen.iter().any(|s| s.key == i.id))
            .cloned()
            .collect();
        for instance in expected {
            let (InstanceState::Ready { provider_id } | InstanceState::Draining { provider_id }) =
                instance.state()
            else {
                continue; // its driver sees to it
            };
            if instance.missed() < LISTS || !instance.is_visible(self.clock.now()) {
                continue;
            }
            match provider.adapter.get(&provider_id).await {
                Ok(Some(seen)) if instance.is(&seen) && seen.state != ProviderState::Gone => {
                    instance.seen();
                    // What is young, or on its way out, may be missing from lists.
                    let stays = seen.state != ProviderState::Stopping;
                    if stays && instance.is_old(self.clock.now()) {
                        provider.contradicts(&provider_id);
                    }
                }
                Ok(None) if instance.is_old(self.clock.now()) => {
                    instance.set_unknown(true);
                    self.lost_instance(&instance, "it vanished").await;
                }
                Ok(_) => self.lost_instance(&instance, "it vanished").await,
                Err(_) => {} // the next look may tell
            }
        }
    }

    /// Rows that nobody drives: an intent whose write was answered with an
    /// error and done all the same, or one that another process moved on.
    /// Seen so twice in a row, they are taken over.
    pub(super) async fn take_up_undriven(
        self: &Arc<Self>,
        provider: &Registered,
        memory: &mut Memory,
    ) {
        let Ok(rows) = self.store.instances().await else {
            return; // the next look may know
        };
        let driven = |row: &InstanceRow| self.index().contains_key(&row.id);
        let of_it = rows.into_iter().filter(|row| row.provider == provider.name);
        let undriven: Vec<InstanceRow> = of_it.filter(|row| !driven(row)).collect();
        let ids: HashSet<String> = undriven.iter().map(|row| row.id.clone()).collect();
        let before = std::mem::replace(&mut memory.undriven, ids);
        for row in undriven.into_iter().filter(|row| before.contains(&row.id)) {
            if let Some(deployment) = self.deployment(&row.deployment) {
                tracing::warn!(instance = row.id, "nobody drove it: it is taken over");
                self.adopt(&deployment, row);
            }
        }
    }
}
