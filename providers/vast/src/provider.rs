//! The six calls.

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::Method;
use serde_json::Value;
use thermocline_policy::Tier;
use thermocline_provider::cloud::{Doubts, Marks, Turns, key_in};
use thermocline_provider::{
    Capabilities, Deletion, InstancePage, InstanceRequest, Mistake, Offer, OfferQuery, PROTOCOL,
    Provider, ProviderError, ProviderInstance,
};

use crate::account::Account;
use crate::call::Call;
use crate::census::Census;
use crate::error::unavailable;
use crate::gpus::GpuNames;
use crate::instance::instance;
use crate::pace::Lane;
use crate::rent::Tried;
use crate::said::{One, Record};
use crate::settings::Settings;
use crate::{ask, create};

/// Vast.ai as a provider.
pub struct VastProvider {
    pub(crate) account: Arc<Account>,
    pub(crate) settings: Settings,
    census: Census,
    gpu_names: GpuNames,
    pub(crate) doubts: Doubts,
    pub(crate) tried: Tried,
    turns: Turns,
}

impl VastProvider {
    /// The provider of `account`; sends nothing yet.
    pub fn new(account: Arc<Account>, settings: Settings) -> Self {
        VastProvider {
            doubts: Doubts::new(account.clock.clone()),
            account,
            settings,
            census: Census::default(),
            gpu_names: GpuNames::default(),
            tried: Tried::default(),
            turns: Turns::default(),
        }
    }

    /// Everything in the account that is `owner`'s, and whether an absence means
    /// something.
    async fn owned(&self, owner: &str) -> Result<(Vec<ProviderInstance>, bool), ProviderError> {
        let records = self.census.take(&self.account).await?;
        let (mut owned, mut complete) = (Vec::new(), true);
        for record in records.iter() {
            let label = record.label.as_deref().unwrap_or_default();
            let Some(key) = key_in(label, owner) else {
                continue;
            };
            let Some(env) = record.env() else {
                complete = false; // whose it is, this answer does not say
                continue;
            };
            let marks = Marks::read(&env).filter(|it| it.owner == owner && it.key == key);
            if let Some(marks) = marks {
                self.doubts.seen(key, &record.id.to_string());
                owned.push(instance(record, &marks));
            }
        }
        Ok((owned, complete))
    }

    /// The instance `key`, if a complete search finds one.
    async fn search(
        &self,
        owner: &str,
        key: &str,
    ) -> Result<Option<ProviderInstance>, ProviderError> {
        let (owned, complete) = self.owned(owner).await?;
        match owned.into_iter().find(|it| it.key == key) {
            Some(found) => Ok(Some(found)),
            None if complete => Ok(None),
            None => Err(unavailable("Vast.ai does not show everything yet")),
        }
    }

    /// Asks for its end; false when Vast.ai does not know it.
    pub(crate) async fn destroy(&self, id: u64) -> Result<bool, ProviderError> {
        let call = Call {
            lane: Lane::Destroy,
            method: Method::DELETE,
            path: &["v0", "instances", &id.to_string()],
            query: &[],
            body: None,
        };
        let destroyed = self.account.find::<Value>(call).await?;
        Ok(destroyed.is_some())
    }

    pub(crate) async fn show(&self, id: u64) -> Result<Option<Record>, ProviderError> {
        let call = Call {
            lane: Lane::Show,
            method: Method::GET,
            path: &["v0", "instances", &id.to_string()],
            query: &[],
            body: None,
        };
        let found = self.account.find::<One>(call).await?;
        Ok(found.and_then(|one| one.instances))
    }

    /// One record and its marks; `None` when Vast.ai does not know it, or when
    /// it is not ours.
    async fn look_at(&self, id: u64) -> Result<Option<(Record, Marks)>, ProviderError> {
        let records = self.census.take(&self.account).await?;
        let listed = records.iter().find(|record| record.id == id).cloned();
        let found = match listed {
            Some(record) => Some(record),
            None => self.show(id).await?,
        };
        let Some(record) = found else {
            return match self.doubts.may_be_hidden(&id.to_string()) {
                true => Err(unavailable("Vast.ai does not show it yet")),
                false => Ok(None),
            };
        };
        self.doubts.shown(&id.to_string());
        let env = record.env();
        let env = env.ok_or_else(|| unavailable("Vast.ai does not say whose it is"))?;
        let label = record.label.as_deref().unwrap_or_default();
        // The label must say the same: marks alone can be copied with a template.
        let ours = Marks::read(&env).filter(|it| key_in(label, &it.owner) == Some(it.key.as_str()));
        Ok(ours.map(|marks| (record, marks)))
    }
}

#[async_trait]
impl Provider for VastProvider {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        Ok(Capabilities {
            protocol: PROTOCOL,
            name: "vast".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tiers: vec![Tier::Pod],
            prices: true,
            lifetimes: false,
            checks: true,
        })
    }

    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        match query.tier {
            Tier::Pod => ask::offers(&self.account, query, &self.settings).await,
            _ => Ok(Vec::new()),
        }
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        create::check(request)?;
        let _one = self.turns.take(key).await;
        if let Some(found) = self.search(&request.owner, key).await? {
            return Ok(found);
        }
        if !self.doubts.may_create(key) {
            return Err(unavailable("whether it was made is not known yet"));
        }
        self.make(key, request).await
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        let Ok(id) = id.parse() else {
            return Ok(None);
        };
        let found = self.look_at(id).await?;
        Ok(found.map(|(record, marks)| instance(&record, &marks)))
    }

    async fn list(
        &self,
        owner: &str,
        _cursor: Option<&str>,
    ) -> Result<InstancePage, ProviderError> {
        let (instances, mut complete) = self.owned(owner).await?;
        let listed = |id: &String| instances.iter().any(|it| it.id == *id);
        complete &= self.doubts.young().iter().all(listed);
        Ok(InstancePage {
            instances,
            next: None,
            complete,
        })
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        let Ok(number) = id.parse() else {
            return Ok(Deletion::Unknown);
        };
        let Some((_, marks)) = self.look_at(number).await? else {
            return Ok(Deletion::Unknown);
        };
        if self.destroy(number).await? {
            self.doubts.forget(&marks.key, id);
            return Ok(Deletion::Accepted);
        }
        match self.doubts.is_young(id) {
            true => Err(unavailable("Vast.ai does not show it yet")),
            false => Ok(Deletion::Unknown),
        }
    }

    fn refuses(&self, request: &InstanceRequest) -> Vec<Mistake> {
        create::refuses(request)
    }

    async fn lacks(&self, request: &InstanceRequest) -> Result<Vec<Mistake>, ProviderError> {
        self.gpu_names.unknown(&self.account, &request.gpu).await
    }
}
