//! The providers that there are, and how they do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use thermocline_policy::{Moment, Tier};
use thermocline_provider::{Provider, ProviderError, ProviderErrorKind};

/// The name under which the local Docker daemon is a provider.
pub(crate) const DOCKER: &str = "docker";

/// A provider by its name in the configuration.
pub(crate) struct Registered {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) adapter: Arc<dyn Provider>,
    condition: Mutex<Condition>,
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
}

impl Registered {
    pub(crate) fn new(name: &str, kind: &'static str, adapter: Arc<dyn Provider>) -> Self {
        Registered {
            name: name.to_owned(),
            kind,
            adapter,
            condition: Mutex::default(),
        }
    }

    pub(crate) fn condition(&self) -> Condition {
        self.condition
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .clone()
    }

    /// Notes how a call ended; true when its health changed.
    pub(crate) fn note<T>(&self, result: &Result<T, ProviderError>, now: Moment) -> bool {
        let mut condition = self.condition.lock().unwrap_or_else(|e| e.into_inner());
        let before = condition.health();
        condition.asked = true;
        match result {
            Ok(_) => condition.last_error = None,
            Err(error) => match error.kind {
                ProviderErrorKind::RateLimited(delay) => {
                    condition.rate_limited_until = delay.map(|delay| now + delay);
                }
                ProviderErrorKind::Auth | ProviderErrorKind::Unavailable => {
                    condition.last_error = Some(error.to_string());
                }
                // It answered: what it refused is the request's matter.
                _ => condition.last_error = None,
            },
        }
        condition.health() != before
    }
}

/// Every provider by name.
pub(crate) type Providers = BTreeMap<String, Arc<Registered>>;

/// Which provider serves `tier` of a specification.
pub(crate) fn name_for(spec: &thermocline_policy::Spec, tier: Tier) -> Option<&str> {
    match tier {
        Tier::Dedicated => None,
        Tier::Local => spec.tiers.local.as_ref().map(|_| DOCKER),
        Tier::Serverless => spec.tiers.serverless.as_ref().map(|t| t.provider.as_str()),
        Tier::Pod => spec.tiers.pod.as_ref().map(|t| t.provider.as_str()),
    }
}
