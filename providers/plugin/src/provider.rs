//! The calls.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde::de::DeserializeOwned;
use thermocline_provider::cloud::one_line;
use thermocline_provider::{
    Capabilities, Deletion, InstancePage, InstanceRequest, Mistake, Offer, OfferQuery, Provider,
    ProviderError, ProviderInstance,
};
use thermocline_wire::provider::{Checked, Lifetime, Offers, PROTOCOL};

use crate::error::{malformed, refused};
use crate::reply::Reply;
use crate::{PluginProvider, invalid, is_segment};

/// Mistakes of one request that are read.
const MOST_MISTAKES: usize = 20;
/// Characters of a field's name.
const LONGEST_FIELD: usize = 200;

#[async_trait]
impl Provider for PluginProvider {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        let request = self.request(Method::GET, &["capabilities"], &[])?;
        let said: Capabilities = self.ask(request).await?;
        if said.protocol != PROTOCOL {
            return Err(invalid("the plugin speaks another version of the protocol"));
        }
        Ok(said)
    }

    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        let (vram_mib, gpus) = (query.vram_mib.to_string(), query.gpus.to_string());
        let query = [
            ("tier", query.tier.as_str()),
            ("vram_mib", &vram_mib),
            ("gpus", &gpus),
        ];
        let request = self.request(Method::GET, &["offers"], &query)?;
        let said: Offers = self.ask(request).await?;
        Ok(said.offers)
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        let call = self.request(Method::PUT, &["instances", key], &[])?;
        let made = self
            .ask(call.timeout(self.create_limit).json(request))
            .await?;
        let made = sane(made)?;
        if made.key != key {
            return Err(malformed("is about another instance"));
        }
        Ok(made)
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        let reply = Reply::to(self.request(Method::GET, &["instances", id], &[])?).await?;
        if reply.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let found = sane(self.accept(&reply)?.json()?)?;
        if found.id != id {
            return Err(malformed("is about another instance"));
        }
        Ok(Some(found))
    }

    async fn list(&self, owner: &str, cursor: Option<&str>) -> Result<InstancePage, ProviderError> {
        let mut query = vec![("owner", owner)];
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let request = self.request(Method::GET, &["instances"], &query)?;
        let page: InstancePage = self.ask(request).await?;
        let instances = page
            .instances
            .into_iter()
            .map(sane)
            .collect::<Result<_, _>>()?;
        Ok(InstancePage { instances, ..page })
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        let reply = Reply::to(self.request(Method::DELETE, &["instances", id], &[])?).await?;
        if reply.status == StatusCode::NOT_FOUND {
            return Ok(Deletion::Unknown);
        }
        self.accept(&reply).map(|_| Deletion::Accepted)
    }

    async fn renew(&self, id: &str, lifetime: Duration) -> Result<bool, ProviderError> {
        let call = self.request(Method::PUT, &["instances", id, "lifetime"], &[])?;
        let max_lifetime_s = lifetime.as_secs();
        let reply = Reply::to(call.json(&Lifetime { max_lifetime_s })).await?;
        if reply.status == StatusCode::NOT_FOUND {
            return Ok(false);
        }
        self.accept(&reply).map(|_| true)
    }

    async fn lacks(&self, request: &InstanceRequest) -> Result<Vec<Mistake>, ProviderError> {
        use StatusCode as S;
        let call = self.request(Method::POST, &["check"], &[])?;
        let reply = Reply::to(call.json(request)).await?;
        // As one answers that has never heard of it, and has not said yet that it has.
        if let S::NOT_FOUND | S::METHOD_NOT_ALLOWED | S::NOT_IMPLEMENTED = reply.status {
            return Ok(Vec::new());
        }
        let said: Checked = self.accept(&reply)?.json()?;
        let mistakes = said.mistakes.into_iter().take(MOST_MISTAKES);
        mistakes.map(|mistake| self.readable(mistake)).collect()
    }
}

impl PluginProvider {
    async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ProviderError> {
        let reply = Reply::to(request).await?;
        self.accept(&reply)?.json()
    }

    /// `reply`, when it is a success.
    fn accept<'r>(&self, reply: &'r Reply) -> Result<&'r Reply, ProviderError> {
        if reply.status.is_success() {
            return Ok(reply);
        }
        let secrets = self.secrets();
        Err(refused(reply.status, &reply.headers, &reply.body, &secrets))
    }

    /// What nobody may read of a plugin's words.
    fn secrets(&self) -> [&str; 3] {
        let bearer = self.bearer.as_ref().and_then(|bearer| bearer.to_str().ok());
        let token = bearer.and_then(|bearer| bearer.strip_prefix("Bearer "));
        [
            token.unwrap_or_default(),
            self.base.as_str().trim_end_matches('/'),
            self.base.authority(),
        ]
    }

    /// `mistake` as people may read it.
    fn readable(&self, mistake: Mistake) -> Result<Mistake, ProviderError> {
        let Mistake { field, message, .. } = &mistake;
        let named = (1..=LONGEST_FIELD).contains(&field.chars().count());
        let message = one_line(message, &self.secrets());
        match named && !field.contains(char::is_control) && !message.is_empty() {
            true => Ok(Mistake { message, ..mistake }),
            false => Err(malformed("holds a mistake without a field or a message")),
        }
    }
}

/// `instance`, unless its id could not be asked for.
fn sane(instance: ProviderInstance) -> Result<ProviderInstance, ProviderError> {
    match is_segment(&instance.id) {
        true => Ok(instance),
        false => Err(malformed("holds an instance without a usable id")),
    }
}
