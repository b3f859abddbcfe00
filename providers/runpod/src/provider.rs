//! The six calls.

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::Method;
use thermocline_policy::Tier;
use thermocline_provider::cloud::{Doubts, Marks, Turns};
use thermocline_provider::{
    Address, Capabilities, Deletion, InstancePage, InstanceRequest, Mistake, Offer, OfferQuery,
    PROTOCOL, Provider, ProviderError, ProviderErrorKind, ProviderInstance, ProviderState,
};

use crate::account::Account;
use crate::catalog::{self, Catalog, Product};
use crate::choice;
use crate::create::{self, Hardware};
use crate::drift::Sizes;
use crate::error::{invalid, malformed, unavailable};
use crate::id::{Id, usable};
use crate::jobs::Translator;
use crate::lacking::lacking;
use crate::said::Thing;
use crate::search::Known;
use crate::settings::Settings;
use crate::{address, endpoint, pod};

/// RunPod as a provider.
pub struct RunpodProvider {
    account: Arc<Account>,
    settings: Settings,
    catalog: Catalog,
    doubts: Doubts,
    known: Known,
    sizes: Sizes,
    translator: Translator,
    turns: Turns,
}

impl RunpodProvider {
    /// The provider of `account`; opens the translator's listener and sends nothing yet.
    ///
    /// # Errors
    /// `invalid` when a URL is none, `host_misconfigured` when the translator's
    /// address cannot be had.
    pub async fn connect(account: Arc<Account>, settings: Settings) -> Result<Self, ProviderError> {
        address::of_pod(&settings.pod_url, "id", 80, "")?;
        address::of_balancer(&settings.endpoint_url, "id")?;
        let translator = Translator::start(&account, &settings).await?;
        Ok(RunpodProvider {
            doubts: Doubts::new(account.clock.clone()),
            account,
            settings,
            catalog: Catalog::default(),
            known: Known::default(),
            sizes: Sizes::default(),
            translator,
            turns: Turns::default(),
        })
    }

    fn describe(
        &self,
        id: &Id,
        thing: &Thing,
        marks: &Marks,
    ) -> Result<ProviderInstance, ProviderError> {
        match id {
            Id::Pod(_) => pod::instance(thing, marks, &self.settings.pod_url),
            Id::Endpoint(_) => {
                let template = &self.settings.endpoint_url;
                endpoint::instance(thing, marks, template, self.translator.url())
            }
        }
    }

    /// The instance `key`, if a complete search finds one.
    async fn search(
        &self,
        tier: Tier,
        owner: &str,
        key: &str,
    ) -> Result<Option<ProviderInstance>, ProviderError> {
        let path = if tier == Tier::Pod {
            "pods"
        } else {
            "serverless"
        };
        let found = self.known.owned(&self.account, path, owner).await?;
        let mut mine = found.things.iter().filter(|(_, _, marks)| marks.key == key);
        match mine.next() {
            Some((id, thing, marks)) => self.describe(id, thing, marks).map(Some),
            None if found.complete => Ok(None),
            None => Err(unavailable("RunPod does not show everything yet")),
        }
    }

    /// The hardware to try for `request`, best first.
    async fn hardware(&self, request: &InstanceRequest) -> Result<Vec<Hardware>, ProviderError> {
        let serverless = request.tier == Tier::Serverless;
        if choice::is_for_cpu(request) {
            let cpus = catalog::cpus(&self.account).await?;
            let chosen = choice::cpu(request, &cpus, serverless);
            return Ok(chosen
                .into_iter()
                .map(|(id, count)| Hardware::Cpu(id, count))
                .collect());
        }
        let product = if serverless {
            Product::Serverless
        } else {
            Product::Pod
        };
        let gpus = self
            .catalog
            .gpus(&self.account, product, request.gpus)
            .await?;
        if serverless {
            let pools = choice::pools(request, &gpus);
            return Ok((!pools.pools.is_empty())
                .then_some(Hardware::Pools(pools))
                .into_iter()
                .collect());
        }
        let types = choice::pod_types(request, &gpus, self.settings.cloud);
        Ok(types.into_iter().map(Hardware::Gpu).collect())
    }

    /// Makes the instance on the first hardware that is there.
    async fn make(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        let choices = self.hardware(request).await?;
        let mut refusal = invalid("RunPod sells no hardware as it is asked for");
        for hardware in &choices {
            let (path, body) = match request.tier {
                Tier::Pod => ("pods", create::pod(key, request, hardware, &self.settings)?),
                _ => (
                    "serverless",
                    create::endpoint(key, request, hardware, &self.settings)?,
                ),
            };
            self.doubts.raise(key);
            let answer = self
                .account
                .write::<Thing>(Method::POST, &[path], &body)
                .await;
            match answer {
                Ok(made) => return self.made(request, made),
                Err(failed) if failed.doubtful => return Err(failed.error),
                Err(failed) => refusal = failed.error,
            }
            self.doubts.settle(key);
            if refusal.kind != ProviderErrorKind::NoCapacity {
                break;
            }
        }
        Err(refusal)
    }

    fn made(
        &self,
        request: &InstanceRequest,
        made: Thing,
    ) -> Result<ProviderInstance, ProviderError> {
        // What cannot be read leaves the doubt.
        let marks = made.env.as_ref().and_then(Marks::read);
        let marks = marks.ok_or_else(malformed)?;
        let id = usable(&made.id).ok_or_else(malformed)?.to_owned();
        let id = match request.tier {
            Tier::Pod => Id::Pod(id),
            _ => {
                self.sizes.wish(&id, request.max_workers);
                Id::Endpoint(id)
            }
        };
        let instance = self.describe(&id, &made, &marks)?;
        self.doubts.made(&instance.id);
        self.known.remember(id, marks);
        Ok(instance)
    }

    /// One thing and its marks; `None` when RunPod does not know it, or when it
    /// is not ours.
    async fn look_at(&self, id: &Id) -> Result<Option<(Thing, Marks)>, ProviderError> {
        let Some(thing) = self.account.find::<Thing>(&id.path()).await? else {
            return match self.doubts.may_be_hidden(&id.to_string()) {
                true => Err(unavailable("RunPod does not show it yet")),
                false => Ok(None),
            };
        };
        self.doubts.shown(&id.to_string());
        let marks = thing.env.as_ref().and_then(Marks::read);
        // Of what we know the marks must be the same: an id may be used again.
        let ours = marks.filter(|seen| self.known.marks(id).is_none_or(|known| known == *seen));
        Ok(ours.map(|marks| (thing, marks)))
    }
}

#[async_trait]
impl Provider for RunpodProvider {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        Ok(Capabilities {
            protocol: PROTOCOL,
            name: "runpod".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tiers: vec![Tier::Serverless, Tier::Pod],
            prices: true,
            lifetimes: false,
            checks: true,
        })
    }

    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        let Some(product) = Product::of(query.tier) else {
            return Ok(Vec::new());
        };
        let gpus = self
            .catalog
            .gpus(&self.account, product, query.gpus)
            .await?;
        Ok(match product {
            Product::Pod => catalog::pod_offers(&gpus, query, self.settings.cloud),
            Product::Serverless => catalog::pool_offers(&gpus, query),
        })
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        create::check(request)?;
        if Product::of(request.tier).is_none() {
            return Err(invalid("RunPod has pods and serverless endpoints"));
        }
        let _one = self.turns.take(key).await;
        if let Some(found) = self.search(request.tier, &request.owner, key).await? {
            self.doubts.seen(key, &found.id);
            if let Some(Id::Endpoint(id)) = Id::parse(&found.id) {
                self.sizes.wish(&id, request.max_workers);
            }
            return Ok(found);
        }
        if !self.doubts.may_create(key) {
            return Err(unavailable("whether it was made is not known yet"));
        }
        self.make(key, request).await
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        let Some(id) = Id::parse(id) else {
            return Ok(None);
        };
        let Some((thing, marks)) = self.look_at(&id).await? else {
            return Ok(None);
        };
        let instance = self.describe(&id, &thing, &marks)?;
        self.known.remember(id, marks);
        Ok(Some(instance).filter(|it| it.state != ProviderState::Gone))
    }

    async fn list(
        &self,
        owner: &str,
        _cursor: Option<&str>,
    ) -> Result<InstancePage, ProviderError> {
        let (mut instances, mut complete) = (Vec::new(), true);
        for path in ["pods", "serverless"] {
            let found = self.known.owned(&self.account, path, owner).await?;
            complete &= found.complete;
            for (id, thing, marks) in &found.things {
                if matches!(id, Id::Endpoint(_)) {
                    self.sizes.mend(&self.account, thing).await;
                }
                let instance = self.describe(id, thing, marks)?;
                self.doubts.seen(&marks.key, &instance.id);
                instances.push(instance);
            }
        }
        let listed = |id: &String| instances.iter().any(|it| it.id == *id);
        complete &= self.doubts.young().iter().all(listed);
        instances.retain(|it| it.state != ProviderState::Gone);
        Ok(InstancePage {
            instances,
            next: None,
            complete,
        })
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        let Some(parsed) = Id::parse(id) else {
            return Ok(Deletion::Unknown);
        };
        let Some((_, marks)) = self.look_at(&parsed).await? else {
            self.known.forget(&parsed);
            return Ok(Deletion::Unknown);
        };
        if let Id::Endpoint(id) = &parsed {
            self.sizes.forget(id);
        }
        if self.account.remove(&parsed.path()).await? {
            self.doubts.forget(&marks.key, id);
            return Ok(Deletion::Accepted);
        }
        match self.doubts.is_young(id) {
            true => Err(unavailable("RunPod does not show it yet")),
            false => Ok(Deletion::Unknown),
        }
    }

    fn resizes(&self) -> bool {
        true
    }

    async fn resize(&self, id: &str, max_workers: u32) -> Result<bool, ProviderError> {
        let Some(Id::Endpoint(id)) = Id::parse(id) else {
            return Ok(false);
        };
        self.sizes.wish(&id, max_workers);
        let Some((endpoint, _)) = self.look_at(&Id::Endpoint(id)).await? else {
            return Ok(false);
        };
        self.sizes.set(&self.account, &endpoint).await?;
        Ok(true)
    }

    fn refuses(&self, request: &InstanceRequest) -> Vec<Mistake> {
        create::refuses(request)
    }

    async fn lacks(&self, request: &InstanceRequest) -> Result<Vec<Mistake>, ProviderError> {
        let product = Product::of(request.tier).filter(|_| !choice::is_for_cpu(request));
        let Some(product) = product else {
            return Ok(Vec::new());
        };
        let gpus = self
            .catalog
            .gpus(&self.account, product, request.gpus)
            .await?;
        Ok(lacking(request, &gpus, self.settings.cloud))
    }

    fn reach(&self, address: &Address) -> Address {
        let (url, token) = (self.translator.url(), self.translator.token());
        address::reached(address, &self.account.key, url, token)
    }
}
