//! The points at which a debug build can be told to end, as by `kill -9`: before
//! and after each commit and each call of a provider. For tests of what a crash
//! leaves; a release build has none of this.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use thermocline_provider::{
    Address, Capabilities, Deletion, InstancePage, InstanceRequest, Mistake, Offer, OfferQuery,
    Provider, ProviderError, ProviderInstance,
};
use thermocline_store::{Gate, Stage, Store};

use super::adapters::Named;
use crate::output;

/// The number, from 0, of the point at which the process ends.
const VARIABLE: &str = "THERMOCLINE_FAIL_AT";

/// Counts the points that the process passes.
#[derive(Clone)]
pub(super) struct FailPoints(Arc<Counter>);

struct Counter {
    passed: AtomicU64,
    last: u64,
}

impl FailPoints {
    /// Those of the environment, where it names one.
    pub(super) fn of_environment() -> Option<Self> {
        let last = std::env::var(VARIABLE).ok()?.parse().ok()?;
        let passed = AtomicU64::new(0);
        Some(FailPoints(Arc::new(Counter { passed, last })))
    }

    /// `store` with a point before and after each write.
    pub(super) fn in_store(&self, store: Store) -> Store {
        let points = self.clone();
        store.behind(Gate::new(move |stage| {
            points.pass(match stage {
                Stage::BeforeWrite => "before a commit",
                Stage::AfterCommit => "after a commit",
            });
            std::future::ready(Ok(()))
        }))
    }

    /// `provider` with a point before and after each call.
    pub(super) fn around(&self, (name, kind, adapter): Named) -> Named {
        let points = self.clone();
        (name, kind, Arc::new(Interrupted { adapter, points }))
    }

    fn pass(&self, point: &str) {
        let number = self.0.passed.fetch_add(1, Ordering::AcqRel);
        if number == self.0.last {
            output::note(&format!("ends at point {number}: {point}"));
            std::process::abort();
        }
    }
}

/// A provider with fail points.
struct Interrupted {
    adapter: Arc<dyn Provider>,
    points: FailPoints,
}

impl Interrupted {
    async fn within<T>(&self, name: &str, call: impl Future<Output = T>) -> T {
        self.points.pass(&format!("before {name}"));
        let answer = call.await;
        self.points.pass(&format!("after {name}"));
        answer
    }
}

#[async_trait]
impl Provider for Interrupted {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        let call = self.adapter.capabilities();
        self.within("capabilities", call).await
    }

    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        self.within("offers", self.adapter.offers(query)).await
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        let call = self.adapter.create(key, request);
        self.within("create", call).await
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        self.within("get", self.adapter.get(id)).await
    }

    async fn list(&self, owner: &str, cursor: Option<&str>) -> Result<InstancePage, ProviderError> {
        let call = self.adapter.list(owner, cursor);
        self.within("list", call).await
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        self.within("delete", self.adapter.delete(id)).await
    }

    async fn renew(&self, id: &str, lifetime: Duration) -> Result<bool, ProviderError> {
        self.within("renew", self.adapter.renew(id, lifetime)).await
    }

    fn resizes(&self) -> bool {
        self.adapter.resizes()
    }

    async fn resize(&self, id: &str, max_workers: u32) -> Result<bool, ProviderError> {
        let resized = self.adapter.resize(id, max_workers);
        self.within("resize", resized).await
    }

    fn refuses(&self, request: &InstanceRequest) -> Vec<Mistake> {
        self.adapter.refuses(request)
    }

    async fn lacks(&self, request: &InstanceRequest) -> Result<Vec<Mistake>, ProviderError> {
        self.adapter.lacks(request).await
    }

    fn reach(&self, address: &Address) -> Address {
        self.adapter.reach(address)
    }

    fn beginnings(&self) -> u64 {
        self.adapter.beginnings()
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
}
