//! The providers that there are, and how they do.

mod paced;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_policy::{Moment, Spec, Tier};
use thermocline_provider::{Provider, ProviderError, ProviderErrorKind};

pub(crate) use paced::{Calls, Paced};

/// The name under which the local Docker daemon is a provider.
pub(crate) const DOCKER: &str = "docker";

/// A provider by its name in the configuration.
pub(crate) struct Registered {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) adapter: Arc<Paced>,
}

/// How a provider has been answering.
#[derive(Debug, Clone, Default)]
pub(crate) struct Condition {
    pub(crate) last_error: Option<String>,
    pub(crate) rate_limited_until: Option<Moment>,
    /// Whether it has ever been asked.
    pub(crate) asked: bool,
}

impl Condition {
    /// `ok`, `unknown` before the first answer, else `unavailable`.
    pub(crate) fn health(&self) -> &'static str {
        match (self.asked, &self.last_error) {
            (false, _) => "unknown",
            (true, None) => "ok",
            (true, Some(_)) => "unavailable",
        }
    }

    /// Notes how a call ended at `now`.
    fn note(&mut self, error: Option<&ProviderError>, now: Moment, unnamed_delay: Duration) {
        self.asked = true;
        let Some(error) = error else {
            self.last_error = None;
            return;
        };
        match error.kind {
            ProviderErrorKind::RateLimited(delay) => {
                self.rate_limited_until = Some(now + delay.unwrap_or(unnamed_delay));
            }
            ProviderErrorKind::Auth | ProviderErrorKind::Unavailable => {
                self.last_error = Some(error.to_string());
            }
            // It answered: what it refused is the request's matter.
            _ => self.last_error = None,
        }
    }
}

impl Registered {
    pub(crate) fn new(
        name: &str,
        kind: &'static str,
        adapter: Arc<dyn Provider>,
        clock: Clock,
    ) -> Self {
        Registered {
            name: name.to_owned(),
            kind,
            adapter: Arc::new(Paced::new(adapter, clock)),
        }
    }

    pub(crate) fn condition(&self) -> Condition {
        self.adapter.condition()
    }

    /// How often each call ended in which way.
    pub(crate) fn calls(&self) -> Calls {
        self.adapter.calls()
    }
}

/// Every provider by name.
pub(crate) type Providers = BTreeMap<String, Arc<Registered>>;

/// Which provider serves `tier` of a specification.
pub(crate) fn name_for(spec: &Spec, tier: Tier) -> Option<&str> {
    match tier {
        Tier::Dedicated => None,
        Tier::Local => spec.tiers.local.as_ref().map(|_| DOCKER),
        Tier::Serverless => spec.tiers.serverless.as_ref().map(|t| t.provider.as_str()),
        Tier::Pod => spec.tiers.pod.as_ref().map(|t| t.provider.as_str()),
    }
}
