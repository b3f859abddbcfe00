//! Providers that do not answer: what is told of them, who need not wait for
//! them, and what goes on once they answer again.

use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{InstanceState, Spec, Tier};
use thermocline_table::StartFailed;
use thermocline_wire::rfc3339;

use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::provider::{DOCKER, Registered, name_for};

/// The code of starts that failed for want of an answer.
pub(crate) const UNAVAILABLE: &str = "unavailable";
/// When to try again what a silent provider would have to start.
const AGAIN: Duration = Duration::from_secs(5);

impl ControlPlane {
    /// Why nothing can be started in `tier` of `spec`: its provider is known not
    /// to answer. Who waits is told so now, and not at the deadline.
    pub(crate) fn silent(&self, spec: &Spec, tier: Tier) -> Option<StartFailed> {
        let name = name_for(spec, tier).filter(|name| *name != DOCKER)?;
        let detail = self.silence_of(self.providers.get(name)?)?;
        Some(StartFailed {
            code: UNAVAILABLE,
            detail,
            retry_after: AGAIN,
        })
    }

    /// What is told of a provider that is known not to answer.
    pub(crate) fn silence_of(&self, provider: &Registered) -> Option<String> {
        let since = self.silent_since(provider)?;
        let name = &provider.name;
        Some(format!("provider {name} has not answered since {since}"))
    }

    /// Since when a provider has not answered, as text.
    pub(crate) fn silent_since(&self, provider: &Registered) -> Option<String> {
        let silent = self.clock.now().since(provider.silent_since()?);
        let wall = self.clock.wall_micros() - silent.as_micros() as i64;
        Some(rfc3339(wall - wall.rem_euclid(1_000_000)))
    }

    /// What is told of the providers of a deployment's tiers whose lists say nothing of
    /// what is there no more, though they answer.
    pub(crate) fn unlisted(&self, spec: &Spec) -> Vec<String> {
        let paid = [Tier::Serverless, Tier::Pod].into_iter();
        let names = paid.filter_map(|tier| name_for(spec, tier));
        let providers = names.filter_map(|name| self.providers.get(name));
        let answering = providers.filter(|it| it.silent_since().is_none());
        let mut told: Vec<String> = answering
            .filter_map(|it| Some(format!("provider {}: {}", it.name, it.why_unlisted()?)))
            .collect();
        told.dedup();
        told
    }

    /// What is told of the silent providers of a deployment's tiers.
    pub(crate) fn silences(&self, spec: &Spec) -> Vec<String> {
        let paid = [Tier::Serverless, Tier::Pod].into_iter();
        let mut told: Vec<String> = paid
            .filter_map(|tier| self.silent(spec, tier))
            .map(|silent| silent.detail)
            .collect();
        told.dedup();
        told
    }

    /// A provider fell silent, or answers again: whoever waits for it looks anew,
    /// and what failed for want of an answer is tried again at once.
    pub(crate) fn heed_silence(self: &Arc<Self>, provider: &Registered) {
        let answers = provider.silent_since().is_none();
        for deployment in self.all() {
            let uses = |tier: &Tier| {
                deployment.with_spec(|spec| name_for(spec, *tier) == Some(&provider.name))
            };
            let tiers: Vec<Tier> = Tier::CREATED.into_iter().filter(uses).collect();
            if answers {
                deployment.forget_failures(&tiers, UNAVAILABLE);
                self.hurry_deletions(&deployment, provider);
            }
            if !tiers.is_empty() {
                self.publish(&deployment);
                deployment.bump();
                self.nudge(&deployment);
            }
        }
    }

    fn hurry_deletions(&self, deployment: &Controlled, provider: &Registered) {
        for instance in deployment.instances() {
            let stopping = matches!(instance.state(), InstanceState::Stopping { .. });
            if stopping && instance.provider.name == provider.name {
                instance.nudge.notify_one();
            }
        }
    }
}
