//! What providers can never do of a specification, told before it is written.

use std::time::Duration;

use futures_util::future::join_all;
use thermocline_policy::{FieldErrors, Spec, Tier};
use thermocline_provider::{InstanceRequest, Mistake, Provider};

use crate::control::ControlPlane;
use crate::launch::request;
use crate::provider::{DOCKER, Registered, name_for};

/// How long a person waits at most for a provider's catalogue.
const PATIENCE: Duration = Duration::from_secs(3);

/// What could not be held against a catalogue; one line for each tier.
pub(crate) type Unchecked = Vec<String>;

/// Fields, by their path, and what is wrong with them.
type Wrong = Vec<(String, String)>;

impl ControlPlane {
    /// Holds `specs` against what their providers can do: what these can never do,
    /// and for each of them what could not be checked just now. Nothing is refused
    /// for that, nor for what is in force already.
    pub(super) async fn ask_providers(
        &self,
        specs: &[(usize, Spec)],
        place: impl Fn(usize, String) -> String,
    ) -> (FieldErrors, Vec<Unchecked>) {
        let asked = specs.iter().map(|(_, spec)| self.ask_providers_of(spec));
        let (mut errors, mut unchecked) = (FieldErrors::default(), Vec::new());
        let answers = join_all(asked).await;
        for ((i, _), (mistakes, open)) in specs.iter().zip(answers) {
            for (field, message) in mistakes {
                errors.push(place(*i, field), message);
            }
            unchecked.push(open);
        }
        (errors, unchecked)
    }

    async fn ask_providers_of(&self, spec: &Spec) -> (Wrong, Unchecked) {
        let paid = [Tier::Serverless, Tier::Pod].into_iter();
        let news = paid.filter(|tier| self.is_news(spec, *tier));
        let answers = join_all(news.map(|tier| self.ask_provider(spec, tier))).await;
        let (mut mistakes, mut unchecked) = (Wrong::new(), Unchecked::new());
        for (wrong, open) in answers {
            for mistake in wrong {
                // What two tiers refuse alike is told once.
                if !mistakes.contains(&mistake) {
                    mistakes.push(mistake);
                }
            }
            unchecked.extend(open);
        }
        (mistakes, unchecked)
    }

    /// Whether `tier` of `spec` asks for anything else than what is in force, or
    /// for what nobody has checked yet.
    fn is_news(&self, spec: &Spec, tier: Tier) -> bool {
        let before = self.deployment(&spec.name);
        before.is_none_or(|before| {
            let in_force = before.with_spec(|before| self.fingerprint(before, tier));
            !before.unchecked().is_empty() || in_force != self.fingerprint(spec, tier)
        })
    }

    async fn ask_provider(&self, spec: &Spec, tier: Tier) -> (Wrong, Option<String>) {
        let provider = name_for(spec, tier).filter(|name| *name != DOCKER);
        let Some(provider) = provider.and_then(|name| self.providers.get(name)) else {
            return (Wrong::new(), None);
        };
        let request = request(spec, tier, &self.owner);
        let (lacks, unchecked) = match self.lacking(provider, &request).await {
            Some(lacks) => (lacks, None),
            None => (Vec::new(), Some(not_checked(provider, tier))),
        };
        let mut mistakes = provider.adapter.refuses(&request);
        mistakes.extend(lacks);
        let told = |mistake: Mistake| (mistake.path(tier), mistake.message);
        (mistakes.into_iter().map(told).collect(), unchecked)
    }
}

impl ControlPlane {
    /// What of `request` the provider does not have at all; `None` = it cannot be
    /// asked just now.
    async fn lacking(
        &self,
        provider: &Registered,
        request: &InstanceRequest,
    ) -> Option<Vec<Mistake>> {
        if provider.checks() == Some(false) {
            return Some(Vec::new());
        }
        let deadline = self.clock.now() + PATIENCE;
        let lacks = provider.adapter.lacks(request);
        self.clock.timeout_at(deadline, lacks).await.ok()?.ok()
    }
}

fn not_checked(provider: &Registered, tier: Tier) -> String {
    let name = &provider.name;
    format!("tiers.{tier}: not held against what {name} has: its catalogue cannot be had just now")
}
