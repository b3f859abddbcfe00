use std::time::Duration;

use futures_util::FutureExt;
use thermocline_policy::Tier;

use super::report::{Checked, Clause, Miss};
use super::session::{Session, fresh_key};
use crate::{InstanceRequest, ProviderInstance, ProviderState};

pub(super) const RENEWED: Clause = Clause {
    name: "lifetime-renewed",
    description: "What was renewed outlives its lifetime; renewing an unknown id says that there is none.",
};
pub(super) const ENDS: Clause = Clause {
    name: "lifetime-ends",
    description: "What is not renewed is gone in time once its lifetime is over.",
};

impl Session<'_> {
    pub(super) async fn lifetime_renewed(&self) -> Checked {
        self.has_lifetimes().await?;
        let id = self.create_mortal().await?.id;
        let over = tokio::time::Instant::now() + self.setup.lifetime;
        let within = self.setup.visible_within.min(self.setup.lifetime);
        self.eventually(within, || self.renew(&id).boxed()).await?;
        let unknown = fresh_key().to_lowercase();
        if self.renewed(&unknown).await? {
            return Err(Miss::Failed("an unknown id was renewed".to_owned()));
        }
        tokio::time::sleep_until(over + self.setup.poll_every).await;
        let there = self.get(&id).await?;
        match there.is_some_and(|seen| seen.state != ProviderState::Gone) {
            true => Ok(()),
            false => Err(Miss::Failed("it ended all the same".to_owned())),
        }
    }

    pub(super) async fn lifetime_ends(&self) -> Checked {
        self.has_lifetimes().await?;
        let id = self.create_mortal().await?.id;
        let within = self.setup.lifetime + self.setup.gone_within;
        self.eventually(within, || self.absent(&id).boxed()).await?;
        Ok(())
    }

    async fn has_lifetimes(&self) -> Checked {
        let said = self.provider.capabilities().await;
        let said = said.map_err(|error| format!("capabilities failed: {error}"))?;
        match () {
            () if !said.lifetimes => Err(Miss::Skipped("it says no lifetimes".to_owned())),
            () if self.setup.request.tier != Tier::Pod => {
                Err(Miss::Skipped("pods alone have lifetimes".to_owned()))
            }
            () => Ok(()),
        }
    }

    async fn create_mortal(&self) -> Result<ProviderInstance, String> {
        let request = InstanceRequest {
            max_lifetime_s: self.setup.lifetime.as_secs(),
            ..self.request()
        };
        self.create_as(&fresh_key(), &request).await
    }

    /// Lets it live for ever; a young one may be unknown at first.
    async fn renew(&self, id: &str) -> Result<(), String> {
        match self.renewed(id).await? {
            true => Ok(()),
            false => Err("renewing does not know it".to_owned()),
        }
    }

    async fn renewed(&self, id: &str) -> Result<bool, String> {
        let renewed = self.provider.renew(id, Duration::ZERO).await;
        renewed.map_err(|error| format!("renewing failed: {error}"))
    }
}
