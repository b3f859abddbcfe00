//! What exists at a provider against what is written down, in both directions.

mod doubtful;
mod known;
mod lifetimes;
mod missing;
mod orphans;
mod sizes;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde_json::json;
use thermocline_policy::Moment;
use thermocline_provider::{ProviderError, ProviderInstance};

use crate::control::ControlPlane;
use crate::instance::Instance;
use crate::provider::{Registered, Shrunken};
use orphans::Unknown;

/// How often a provider is listed without a hint.
const EVERY: Duration = Duration::from_secs(5);
/// The same while it is not known whether it answers.
const SOON: Duration = Duration::from_secs(1);
/// Complete lists without an instance that make it suspect.
const LISTS: u32 = 2;

/// What a provider's sweep remembers between two passes.
#[derive(Default)]
struct Memory {
    /// Unknown instances by id.
    unknown: HashMap<String, Unknown>,
    /// Rows that nobody drove at the last look.
    undriven: HashSet<String>,
    /// Whether it was known not to answer at the last look.
    silent: bool,
    /// The provider's health as it was told last.
    told: Option<&'static str>,
    /// Whether a shrunken list was told of.
    alarmed: bool,
    /// When what it lacks is looked at next, and the last that was looked at.
    doubts: (Moment, String),
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
            let pause = match provider.falls_silent() {
                true => SOON,
                false => EVERY,
            };
            let next = self.clock.now() + pause;
            provider.rest_until(next);
            tokio::select! {
                () = self.clock.sleep_until(next) => {}
                Some(()) = hints.next() => {}
                () = self.drain.cancelled() => return,
            }
            provider.rest_until(Moment::ORIGIN);
        }
    }

    /// Lists the provider first, then looks at what is known: an instance that
    /// is intended meanwhile is never taken for an orphan.
    async fn sweep(self: &Arc<Self>, provider: &Arc<Registered>, memory: &mut Memory) {
        // Before the list, whose failure is the news of a provider that is away.
        if provider.tiers().is_none() {
            provider.learn().await;
        }
        let began = self.clock.now();
        let listed = self.list(provider).await;
        let changed = self.tell_news(provider, memory);
        let silent = provider.silent_since().is_some();
        if std::mem::replace(&mut memory.silent, silent) != silent {
            self.heed_silence(provider);
        }
        self.take_up_undriven(provider, memory).await;
        if let Ok((seen, complete)) = listed {
            self.look_at_list(provider, &seen, complete, began, memory)
                .await;
            // After a change of health another version may have come back.
            if changed {
                provider.learn().await;
            }
        }
        // Also of what a list that failed could not show.
        self.renew_lifetimes(provider).await;
        self.resize_endpoints(provider).await;
    }

    /// What `provider` lists of ours, as [`Registered::list`] tells.
    pub(crate) async fn list(
        &self,
        provider: &Registered,
    ) -> Result<(Vec<ProviderInstance>, bool), ProviderError> {
        let is_anothers = |seen: &ProviderInstance| {
            let known = self.index().get(&seen.key).cloned();
            known.is_some_and(|known| known.provider.name != provider.name)
        };
        provider.list(&self.owner, is_anothers).await
    }

    /// What was `seen` in a list, which is `complete` where it also tells of
    /// what is not there, against what is known.
    async fn look_at_list(
        self: &Arc<Self>,
        provider: &Arc<Registered>,
        seen: &[ProviderInstance],
        complete: bool,
        began: Moment,
        memory: &mut Memory,
    ) {
        if complete {
            memory
                .unknown
                .retain(|id, _| seen.iter().any(|s| s.id == *id));
        }
        for instance in seen {
            self.look_at(provider, instance, memory).await;
        }
        match complete {
            true => self.look_for_missing(provider, seen, began).await,
            false => self.look_at_doubtful(provider, memory).await,
        }
    }

    /// Tells of a provider whose health changed, or whose list shrank; whether
    /// its health did.
    fn tell_news(&self, provider: &Registered, memory: &mut Memory) -> bool {
        let health = provider.condition().health();
        let changed = memory.told.replace(health) != Some(health);
        if changed {
            self.tell_health(provider);
        }
        let shrunken = provider.shrunken();
        if let (Some(shrunken), false) = (shrunken, memory.alarmed) {
            self.tell_shrunken(provider, shrunken);
        }
        memory.alarmed = shrunken.is_some();
        changed
    }

    fn tell_shrunken(&self, provider: &Registered, shrunken: Shrunken) {
        let (missing, before) = (shrunken.missing, shrunken.before);
        let what = provider.shrunken_text().unwrap_or_default();
        let text = format!("provider {}: {what}", provider.name);
        tracing::error!(provider = provider.name, "{text}");
        let body = json!({ "provider": provider.name, "missing": missing, "before": before });
        self.events.tell("provider.shrunken", None, &text, body);
    }

    fn tell_health(&self, provider: &Registered) {
        let condition = provider.condition();
        let health = condition.health();
        let text = match condition.trouble() {
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
        let known = self.index().get(&seen.key).cloned();
        // A second one under a key that has its instance is nobody's.
        let its = |instance: &Arc<Instance>| {
            let state = instance.state();
            instance.provider.name == provider.name
                && state.provider_id().is_none_or(|id| id == seen.id)
        };
        match known.filter(its) {
            Some(instance) => {
                memory.unknown.remove(&seen.id);
                instance.seen();
                self.look_at_known(&instance, seen).await;
            }
            None => self.look_at_unknown(provider, seen, memory).await,
        }
    }
}
