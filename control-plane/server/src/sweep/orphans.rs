//! What exists at a provider and is not written down.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use thermocline_policy::{InstanceState, Moment};
use thermocline_provider::{ProviderInstance, ProviderState};

use super::{EVERY, Memory};
use crate::control::ControlPlane;
use crate::provider::Registered;

/// How long something of ours that nobody intended may be there.
const ORPHAN_AGE: Duration = Duration::from_secs(30);
/// Between two attempts to delete an orphan.
const LONGEST: Duration = Duration::from_secs(300);

/// An instance of ours that nobody intended.
pub(super) struct Unknown {
    since: Moment,
    /// Not before this is its deletion tried again.
    next: Moment,
    attempts: u32,
}

impl ControlPlane {
    pub(super) async fn look_at_unknown(
        &self,
        provider: &Arc<Registered>,
        seen: &ProviderInstance,
        memory: &mut Memory,
    ) {
        if matches!(seen.state, ProviderState::Gone | ProviderState::Stopping) {
            return;
        }
        let now = self.clock.now();
        let unknown = memory.unknown.entry(seen.id.clone());
        let unknown = unknown.or_insert(Unknown {
            since: now,
            next: now + ORPHAN_AGE,
            attempts: 0,
        });
        if now < unknown.next || !self.is_orphan(seen).await {
            return;
        }
        unknown.attempts += 1;
        unknown.next = now + (EVERY * 2u32.saturating_pow(unknown.attempts.min(6))).min(LONGEST);
        if unknown.attempts == 1 {
            self.tell_orphan(provider, seen, now.since(unknown.since));
        }
        if let Err(error) = provider.delete(&seen.id).await {
            tracing::warn!(provider = provider.name, %error, "an orphan could not be deleted");
        }
    }

    /// Whether no row stands for it, as the store says and not memory alone: also a row
    /// under another provider, since two of them may serve one account.
    async fn is_orphan(&self, seen: &ProviderInstance) -> bool {
        match self.store.instance(&seen.key).await {
            Ok(None) => true,
            Ok(Some(row)) => {
                row.state == InstanceState::Gone
                    || row.state.provider_id().is_some_and(|id| id != seen.id)
            }
            Err(error) => {
                tracing::warn!(%error, "an unknown instance could not be looked up");
                false
            }
        }
    }

    fn tell_orphan(&self, provider: &Registered, seen: &ProviderInstance, age: Duration) {
        let mut orphans = self.orphans.lock().unwrap_or_else(|e| e.into_inner());
        *orphans.entry(provider.name.clone()).or_insert(0) += 1;
        drop(orphans);
        let text = format!(
            "an instance that nobody intended is deleted at {}",
            provider.name
        );
        let age = age.as_secs();
        let body = json!({ "provider": provider.name, "instance": seen.key, "age_s": age });
        self.events.tell("orphan.deleted", None, &text, body);
    }
}
