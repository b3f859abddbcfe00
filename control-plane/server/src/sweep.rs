//! What exists at a provider against what is written down, in both directions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde_json::json;
use thermocline_policy::{InstanceState, Moment};
use thermocline_provider::{Provider, ProviderInstance, ProviderState, list_all};

use crate::control::ControlPlane;
use crate::instance::Instance;
use crate::provider::Registered;

/// How often a provider is listed without a hint.
const EVERY: Duration = Duration::from_secs(5);
/// How long something of ours that nobody intended may be there.
const ORPHAN_AGE: Duration = Duration::from_secs(30);
/// Between two attempts to delete an orphan.
const LONGEST: Duration = Duration::from_secs(300);
/// Complete lists without an instance that make it suspect.
const LISTS: u32 = 2;

/// What a provider's sweep remembers between two passes.
#[derive(Default)]
struct Memory {
    /// Unknown instances by id.
    unknown: HashMap<String, Unknown>,
    /// The provider's health as it was told last.
    told: Option<&'static str>,
}

/// An instance of ours that nobody intended.
struct Unknown {
    since: Moment,
    /// Not before this is its deletion tried again.
    next: Moment,
    attempts: u32,
}

impl ControlPlane {
    /// Starts a sweep of its own for each provider, so that a silent one never
    /// slows the others.
    pub(crate) fn start_sweeps(self: &Arc<Self>, hints: Vec<(String, BoxStream<'static, ()>)>) {
        let mut hints: HashMap<String, BoxStream<'static, ()>> = hints.into_iter().collect();
        for provider in self.providers.values() {
            let hint = hints
                .remove(&provider.name)
                .unwrap_or_else(|| futures_util::stream::pending().boxed());
            tokio::spawn(self.clone().sweep_provider(provider.clone(), hint));
        }
    }

    async fn sweep_provider(
        self: Arc<Self>,
        provider: Arc<Registered>,
        mut hints: BoxStream<'static, ()>,
    ) {
        let mut memory = Memory::default();
        loop {
            self.sweep(&provider, &mut memory).await;
            tokio::select! {
                () = self.clock.sleep(EVERY) => {}
                Some(()) = hints.next() => {}
                () = self.drain.cancelled() => return,
            }
        }
    }

    /// Lists the provider first, then looks at what is known: an instance that
    /// is intended meanwhile is never taken for an orphan.
    async fn sweep(self: &Arc<Self>, provider: &Arc<Registered>, memory: &mut Memory) {
        let began = self.clock.now();
        let listed = list_all(provider.adapter.as_ref(), &self.owner).await;
        let health = provider.condition().health();
        if memory.told.replace(health) != Some(health) {
            self.tell_health(provider);
        }
        let Ok((seen, complete)) = listed else {
            return; // no information
        };
        memory
            .unknown
            .retain(|id, _| seen.iter().any(|s| s.id == *id));
        for instance in &seen {
            self.look_at(provider, instance, memory).await;
        }
        if complete {
            self.look_for_missing(provider, &seen, began).await;
        }
    }

    fn tell_health(&self, provider: &Registered) {
        let condition = provider.condition();
        let health = condition.health();
        let text = match &condition.last_error {
            Some(error) => format!("provider {} is {health}: {error}", provider.name),
            None => format!("provider {} is {health}", provider.name),
        };
        let body = json!({ "provider": provider.name, "health": health });
        self.events.tell("provider.health", None, &text, body);
    }

    /// Something of ours that exists.
    async fn look_at(
        self: &Arc<Self>,
        provider: &Arc<Registered>,
        seen: &ProviderInstance,
        memory: &mut Memory,
    ) {
        if seen.owner != self.owner {
            return;
        }
        let known = self.index().get(&seen.key).cloned();
        match known {
            // A second one under a key that has its instance is nobody's.
            Some(instance)
                if instance
                    .state()
                    .provider_id()
                    .is_none_or(|id| id == seen.id) =>
            {
                instance.seen();
                self.look_at_known(&instance, seen).await;
            }
            Some(_) | None => self.look_at_unknown(provider, seen, memory).await,
        }
    }

    async fn look_at_known(self: &Arc<Self>, instance: &Arc<Instance>, seen: &ProviderInstance) {
        let serves = matches!(
            instance.state(),
            InstanceState::Ready { .. } | InstanceState::Draining { .. }
        );
        let ended = matches!(seen.state, ProviderState::Failed | ProviderState::Gone);
        if serves && ended {
            let why = match seen.detail.is_empty() {
                true => "it ended",
                false => &seen.detail,
            };
            self.lost_instance(instance, why).await;
        }
    }

    async fn look_at_unknown(
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
        if now < unknown.next {
            return;
        }
        unknown.attempts += 1;
        unknown.next = now + (EVERY * 2u32.saturating_pow(unknown.attempts.min(6))).min(LONGEST);
        if unknown.attempts == 1 {
            self.tell_orphan(provider, seen, now.since(unknown.since));
        }
        if let Err(error) = provider.adapter.delete(&seen.id).await {
            tracing::warn!(provider = provider.name, %error, "an orphan could not be deleted");
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

    /// What should exist and was not listed: believed to be gone only after two
    /// complete lists and the provider's own word.
    async fn look_for_missing(
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
            if instance.missed() < LISTS {
                continue;
            }
            if let Ok(None) = provider.adapter.get(&provider_id).await {
                self.lost_instance(&instance, "it vanished").await;
            }
        }
    }

    async fn lost_instance(self: &Arc<Self>, instance: &Arc<Instance>, why: &str) {
        if let Some(deployment) = self.deployment(&instance.request.deployment) {
            self.lost(&deployment, instance, why).await;
        }
    }
}
