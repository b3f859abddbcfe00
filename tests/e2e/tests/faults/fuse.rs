//! Crash points: before each write of the store, before and after each call of
//! the provider.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use thermocline_provider::{
    Capabilities, Deletion, InstancePage, InstanceRequest, Offer, OfferQuery, Provider,
    ProviderError, ProviderInstance,
};
use thermocline_store::{Gate, Stage};
use thermocline_support::provider::FakeProvider;
use tokio::sync::Notify;

const NEVER: u64 = u64::MAX;

/// Counts the points that a process passes, and stops it at one of them.
#[derive(Clone)]
pub(crate) struct Fuse(Arc<Wire>);

struct Wire {
    passed: AtomicU64,
    blows_at: AtomicU64,
    blown: AtomicBool,
    blows: Notify,
}

impl Fuse {
    /// One that never blows.
    pub(crate) fn new() -> Self {
        Fuse(Arc::new(Wire {
            passed: AtomicU64::new(0),
            blows_at: AtomicU64::new(NEVER),
            blown: AtomicBool::new(false),
            blows: Notify::new(),
        }))
    }

    /// Blows at the point after `points` more.
    pub(crate) fn arm(&self, points: u64) {
        self.0
            .blows_at
            .store(self.passed() + points, Ordering::Release);
    }

    /// Whole again: the next process passes.
    pub(crate) fn mend(&self) {
        self.0.blows_at.store(NEVER, Ordering::Release);
        self.0.blown.store(false, Ordering::Release);
    }

    pub(crate) fn passed(&self) -> u64 {
        self.0.passed.load(Ordering::Acquire)
    }

    pub(crate) fn is_blown(&self) -> bool {
        self.0.blown.load(Ordering::Acquire)
    }

    /// Ends when it blows.
    pub(crate) async fn blows(&self) {
        let blows = self.0.blows.notified();
        if !self.is_blown() {
            blows.await;
        }
    }

    /// A point; a process never gets beyond the one at which its fuse blows.
    async fn pass(&self) {
        if self.0.passed.fetch_add(1, Ordering::AcqRel) == self.0.blows_at.load(Ordering::Acquire) {
            self.0.blown.store(true, Ordering::Release);
            self.0.blows.notify_waiters();
        }
        if self.is_blown() {
            std::future::pending::<()>().await;
        }
    }

    /// What the store's writes pass.
    pub(crate) fn gate(&self) -> Gate {
        let fuse = self.clone();
        // After a commit nothing happens until the next point, so one of both will do.
        Gate::new(move |stage| {
            let fuse = fuse.clone();
            async move {
                if stage == Stage::BeforeWrite {
                    fuse.pass().await;
                }
                Ok(())
            }
        })
    }
}

/// A cloud with a crash point before and after each call.
pub(crate) struct Fused(pub(crate) FakeProvider, pub(crate) Fuse);

impl Fused {
    async fn within<T>(&self, call: impl Future<Output = T>) -> T {
        self.1.pass().await;
        let answer = call.await;
        self.1.pass().await;
        answer
    }
}

#[async_trait]
impl Provider for Fused {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        self.within(self.0.capabilities()).await
    }

    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        self.within(self.0.offers(query)).await
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        self.within(self.0.create(key, request)).await
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        self.within(self.0.get(id)).await
    }

    async fn list(&self, owner: &str, cursor: Option<&str>) -> Result<InstancePage, ProviderError> {
        self.within(self.0.list(owner, cursor)).await
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        self.within(self.0.delete(id)).await
    }

    fn resizes(&self) -> bool {
        self.0.resizes()
    }

    async fn resize(&self, id: &str, max_workers: u32) -> Result<bool, ProviderError> {
        self.within(self.0.resize(id, max_workers)).await
    }

    async fn renew(&self, id: &str, lifetime: Duration) -> Result<bool, ProviderError> {
        self.within(self.0.renew(id, lifetime)).await
    }
}
