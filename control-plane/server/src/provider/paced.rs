use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use thermocline_clock::Clock;
use thermocline_policy::NanoUsd;
use thermocline_provider::{
    Address, Capabilities, Deletion, InstancePage, InstanceRequest, Mistake, Offer, OfferQuery,
    Provider, ProviderError, ProviderErrorKind, ProviderInstance,
};

use super::Condition;
use crate::secrets::Redaction;

/// A rate limit that named no delay is kept for this long.
const UNNAMED_DELAY: Duration = Duration::from_secs(5);

/// A backstop far above what adapters allow a call.
const LONGEST_CALL: Duration = Duration::from_secs(120);

/// How often each call ended in which way.
pub(crate) type Calls = BTreeMap<(&'static str, &'static str), u64>;

/// An adapter whose every call is counted and noted, and none is made before a
/// rate limit has ended. No secret is in its words, whatever it repeats, and what is no
/// price that anybody could ask is unknown.
pub(crate) struct Paced {
    adapter: Arc<dyn Provider>,
    clock: Clock,
    redaction: Redaction,
    seen: Mutex<(Condition, Calls)>,
}

impl Paced {
    pub(super) fn new(adapter: Arc<dyn Provider>, clock: Clock, redaction: Redaction) -> Self {
        Paced {
            adapter,
            clock,
            redaction,
            seen: Mutex::default(),
        }
    }

    pub(super) fn condition(&self) -> Condition {
        self.seen().0.clone()
    }

    pub(super) fn calls(&self) -> Calls {
        self.seen().1.clone()
    }

    fn may_call(&self) -> Result<(), ProviderError> {
        let now = self.clock.now();
        let limited = self.seen().0.rate_limited_until;
        match limited.filter(|until| *until > now) {
            None => Ok(()),
            Some(until) => Err(ProviderError::new(
                ProviderErrorKind::RateLimited(Some(now.until(until))),
                "the provider asked us to wait",
            )),
        }
    }

    /// Makes a call, unless it is too early for any.
    async fn call<T>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        self.may_call()?;
        let began = self.clock.now();
        let deadline = began + LONGEST_CALL;
        let in_time = self.clock.timeout_at(deadline, call).await;
        let result = in_time.unwrap_or_else(|_| Err(unanswered()));
        let result = result.map_err(|error| self.clean_error(error));
        let now = self.clock.now();
        let word = result.as_ref().err().map_or("ok", |e| e.kind.code());
        let mut seen = self.seen();
        seen.0
            .note(result.as_ref().err(), began, now, UNNAMED_DELAY);
        *seen.1.entry((name, word)).or_insert(0) += 1;
        drop(seen);
        result
    }

    fn clean_error(&self, mut error: ProviderError) -> ProviderError {
        self.clean(&mut error.detail);
        error
    }

    fn clean_instance(&self, mut instance: ProviderInstance) -> ProviderInstance {
        self.clean(&mut instance.detail);
        instance.usd_per_hour = instance.usd_per_hour.filter(|usd| is_price(*usd));
        instance
    }

    fn clean(&self, detail: &mut String) {
        if let Cow::Owned(clean) = self.redaction.clean(detail) {
            *detail = clean;
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, (Condition, Calls)> {
        self.seen.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Whether it can be what an hour costs, in dollars.
fn is_price(usd_per_hour: f64) -> bool {
    NanoUsd::price(usd_per_hour).is_some()
}

fn unanswered() -> ProviderError {
    ProviderError::new(ProviderErrorKind::Unanswered, "no answer in two minutes")
}

#[async_trait]
impl Provider for Paced {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        self.call("capabilities", self.adapter.capabilities()).await
    }

    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        let mut offers = self.call("offers", self.adapter.offers(query)).await?;
        for offer in &mut offers {
            offer.usd_per_hour = offer.usd_per_hour.filter(|usd| is_price(*usd));
            offer.usd_per_second = offer.usd_per_second.filter(|usd| is_price(*usd * 3600.0));
        }
        Ok(offers)
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        let created = self.call("create", self.adapter.create(key, request)).await;
        self.seen().0.note_credit(created.as_ref().err());
        Ok(self.clean_instance(created?))
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        let seen = self.call("get", self.adapter.get(id)).await?;
        Ok(seen.map(|seen| self.clean_instance(seen)))
    }

    async fn list(&self, owner: &str, cursor: Option<&str>) -> Result<InstancePage, ProviderError> {
        let mut page = self.call("list", self.adapter.list(owner, cursor)).await?;
        let instances = page.instances.into_iter();
        page.instances = instances.map(|seen| self.clean_instance(seen)).collect();
        Ok(page)
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        self.call("delete", self.adapter.delete(id)).await
    }

    async fn renew(&self, id: &str, lifetime: Duration) -> Result<bool, ProviderError> {
        self.call("renew", self.adapter.renew(id, lifetime)).await
    }

    fn resizes(&self) -> bool {
        self.adapter.resizes()
    }

    async fn resize(&self, id: &str, max_workers: u32) -> Result<bool, ProviderError> {
        let resized = self.adapter.resize(id, max_workers);
        self.call("resize", resized).await
    }

    fn refuses(&self, request: &InstanceRequest) -> Vec<Mistake> {
        self.adapter.refuses(request)
    }

    async fn lacks(&self, request: &InstanceRequest) -> Result<Vec<Mistake>, ProviderError> {
        self.may_call()?;
        // Neither counted nor noted: it may be answered from memory, which says
        // nothing of whether anybody answers there.
        let lacks = self.adapter.lacks(request).await;
        lacks.map_err(|error| self.clean_error(error))
    }

    fn reach(&self, address: &Address) -> Address {
        self.adapter.reach(address)
    }

    fn voucher(&self) -> Option<&str> {
        self.adapter.voucher()
    }

    fn forgets(&self) -> bool {
        self.adapter.forgets()
    }

    fn hands_over(&self) -> bool {
        self.adapter.hands_over()
    }

    fn beginnings(&self) -> u64 {
        self.adapter.beginnings()
    }
}
