//! The provider protocol's calls.

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use thermocline_policy::Tier;
use thermocline_provider::{
    Capabilities, Deletion, InstancePage, InstanceRequest, Offer, OfferQuery, PROTOCOL, Provider,
    ProviderError, ProviderErrorKind, ProviderInstance,
};

use crate::create::Creation;
use crate::pull::still_pulling;
use crate::{DockerProvider, names, state};

/// How many containers are read at a time for one list.
const READERS: usize = 8;

#[async_trait]
impl Provider for DockerProvider {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        Ok(Capabilities {
            protocol: PROTOCOL,
            name: "docker".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tiers: vec![Tier::Local],
            prices: true,
            lifetimes: false,
            checks: false,
        })
    }

    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        if query.tier != Tier::Local {
            return Ok(Vec::new());
        }
        let ping = async { Ok(self.daemon.ping().await?) };
        let answer = self.daemon.within(self.limits.call, ping).await;
        Ok(vec![this_machine(answer.is_ok())])
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        let creation = Creation::new(self, key, request)?;
        let made = self.daemon.within(self.limits.create, creation.run()).await;
        made.map_err(|error| match error.kind {
            ProviderErrorKind::Unavailable if self.pulls.in_progress(&request.image) => {
                still_pulling()
            }
            _ => error,
        })
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        self.daemon.within(self.limits.call, self.read(id)).await
    }

    async fn list(
        &self,
        owner: &str,
        _cursor: Option<&str>,
    ) -> Result<InstancePage, ProviderError> {
        let instances = self
            .daemon
            .within(self.limits.call, self.all(owner))
            .await?;
        Ok(InstancePage {
            instances,
            next: None,
            complete: true,
        })
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        let Some(found) = self.get(id).await? else {
            return Ok(Deletion::Unknown);
        };
        if let Some(deletion) = self.deletions.begin(&found.id) {
            tokio::spawn(deletion.run(self.daemon.clone(), self.limits));
        }
        Ok(Deletion::Accepted)
    }
}

impl DockerProvider {
    /// One container of ours; those of others are as good as absent.
    async fn read(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        if !names::is_word(id) {
            return Ok(None);
        }
        let found = self.daemon.inspect(id).await?;
        Ok(found.and_then(|found| {
            let ending = found
                .id
                .as_deref()
                .is_some_and(|id| self.deletions.contains(id));
            state::instance(&found, ending)
        }))
    }

    /// Each is read by itself, for its exit code; one that goes meanwhile is left out.
    async fn all(&self, owner: &str) -> Result<Vec<ProviderInstance>, ProviderError> {
        let ids = self.daemon.ids(owner).await?;
        let reads = ids
            .into_iter()
            .map(|id| async move { self.read(&id).await });
        let found: Vec<Option<_>> = stream::iter(reads).buffered(READERS).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }
}

fn this_machine(available: bool) -> Offer {
    Offer {
        id: "local".to_owned(),
        gpu: "local".to_owned(),
        // What is free here is measured by whoever places instances.
        vram_mib: 0,
        usd_per_hour: Some(0.0),
        usd_per_second: None,
        region: String::new(),
        available,
    }
}
