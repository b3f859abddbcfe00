use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::MissedTickBehavior;
use ulid::Ulid;

use super::Setup;
use super::report::{Checked, Miss};
use crate::{InstanceRequest, Provider, ProviderInstance, ProviderState, list_all};

/// The least time between two looks.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// One run: who it is, and what it has seen and made.
pub(super) struct Session<'a> {
    pub(super) provider: &'a dyn Provider,
    pub(super) setup: &'a Setup,
    /// An owner that nobody else has.
    pub(super) owner: String,
    /// The instance that most clauses look at, once it was made.
    pub(super) subject: Option<ProviderInstance>,
    /// Every id that a create was answered with.
    made: Mutex<Vec<String>>,
    /// What instances said of themselves that cannot be.
    contradictions: Mutex<Vec<String>>,
}

impl<'a> Session<'a> {
    pub(super) fn new(provider: &'a dyn Provider, setup: &'a Setup) -> Self {
        Session {
            provider,
            setup,
            owner: format!("conformance-{}", fresh_key()),
            subject: None,
            made: Mutex::default(),
            contradictions: Mutex::default(),
        }
    }

    /// The setup's request, for this run's owner.
    pub(super) fn request(&self) -> InstanceRequest {
        InstanceRequest {
            owner: self.owner.clone(),
            ..self.setup.request.clone()
        }
    }

    /// Creates `key` and remembers what came of it.
    pub(super) async fn create(&self, key: &str) -> Result<ProviderInstance, String> {
        self.create_as(key, &self.request()).await
    }

    /// The same with another request of this run's.
    pub(super) async fn create_as(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, String> {
        let instance = self
            .provider
            .create(key, request)
            .await
            .map_err(|error| format!("create failed: {error}"))?;
        lock(&self.made).push(instance.id.clone());
        self.observe(&instance);
        if instance.key == key && instance.owner == self.owner {
            return Ok(instance);
        }
        Err("create answered with another key or owner".to_owned())
    }

    /// One instance, if the provider knows it.
    pub(super) async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, String> {
        let found = self.provider.get(id).await;
        let found = found.map_err(|error| format!("get failed: {error}"))?;
        found.iter().for_each(|instance| self.observe(instance));
        Ok(found)
    }

    /// Repeats `look` at the setup's pace until it succeeds or `within` has
    /// passed; then its last error.
    pub(super) async fn eventually<'l, T>(
        &self,
        within: Duration,
        mut look: impl FnMut() -> BoxFuture<'l, Result<T, String>>,
    ) -> Result<T, String> {
        let deadline = tokio::time::Instant::now() + within;
        let mut looks = tokio::time::interval(self.setup.poll_every.max(SHORTEST_PAUSE));
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let tick = looks.tick().await;
            match look().await {
                Err(_) if tick < deadline => {}
                seen => return seen,
            }
        }
    }

    /// Everything of this run that the provider lists; fails on a partial list.
    pub(super) async fn list(&self) -> Result<Vec<ProviderInstance>, String> {
        let (instances, complete) = list_all(self.provider, &self.owner)
            .await
            .map_err(|error| format!("list failed: {error}"))?;
        instances.iter().for_each(|instance| self.observe(instance));
        if complete {
            return Ok(instances);
        }
        Err("the list was not complete".to_owned())
    }

    /// The instance under trial.
    pub(super) fn subject(&self) -> Checked<&ProviderInstance> {
        self.subject
            .as_ref()
            .ok_or_else(|| Miss::Skipped("no instance could be created".to_owned()))
    }

    /// Every id that this run was given.
    pub(super) fn made(&self) -> Vec<String> {
        lock(&self.made).clone()
    }

    /// The first thing that an instance said of itself and that cannot be.
    pub(super) fn contradiction(&self) -> Option<String> {
        lock(&self.contradictions).first().cloned()
    }

    fn observe(&self, instance: &ProviderInstance) {
        let ready = instance.state == ProviderState::Ready;
        let contradiction = match &instance.address {
            _ if instance.id.is_empty() => "an instance without an id",
            Some(_) if !ready => "an address before or after ready",
            None if ready => "ready without an address",
            Some(address) if !is_http(&address.url) => "an address that is no http(s) URL",
            Some(_) | None => return,
        };
        lock(&self.contradictions).push(contradiction.to_owned());
    }
}

fn is_http(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// A key that was never used.
pub(super) fn fresh_key() -> String {
    Ulid::generate().to_string()
}

fn lock<T>(list: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    list.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
