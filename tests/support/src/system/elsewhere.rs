use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use thermocline_provider::{
    Address, Capabilities, Deletion, InstancePage, InstanceRequest, Mistake, Offer, OfferQuery,
    Provider, ProviderError, ProviderInstance,
};
use tokio::runtime::Handle;

/// A provider whose calls run on another runtime, as a cloud's would.
pub(super) struct Elsewhere {
    handle: Handle,
    provider: Arc<dyn Provider>,
}

impl Elsewhere {
    pub(super) fn new(handle: Handle, provider: impl Provider + 'static) -> Self {
        Elsewhere {
            handle,
            provider: Arc::new(provider),
        }
    }

    async fn run<T, F>(&self, call: F) -> T
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.handle
            .spawn(call)
            .await
            .expect("a provider's call ends")
    }
}

#[async_trait]
impl Provider for Elsewhere {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        let provider = self.provider.clone();
        self.run(async move { provider.capabilities().await }).await
    }

    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        let provider = self.provider.clone();
        self.run(async move { provider.offers(query).await }).await
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        let (provider, key, request) = (self.provider.clone(), key.to_owned(), request.clone());
        self.run(async move { provider.create(&key, &request).await })
            .await
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        let (provider, id) = (self.provider.clone(), id.to_owned());
        self.run(async move { provider.get(&id).await }).await
    }

    async fn list(&self, owner: &str, cursor: Option<&str>) -> Result<InstancePage, ProviderError> {
        let (provider, owner) = (self.provider.clone(), owner.to_owned());
        let cursor = cursor.map(str::to_owned);
        self.run(async move { provider.list(&owner, cursor.as_deref()).await })
            .await
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        let (provider, id) = (self.provider.clone(), id.to_owned());
        self.run(async move { provider.delete(&id).await }).await
    }

    fn resizes(&self) -> bool {
        self.provider.resizes()
    }

    async fn resize(&self, id: &str, max_workers: u32) -> Result<bool, ProviderError> {
        let (provider, id) = (self.provider.clone(), id.to_owned());
        self.run(async move { provider.resize(&id, max_workers).await })
            .await
    }

    async fn renew(&self, id: &str, lifetime: Duration) -> Result<bool, ProviderError> {
        let (provider, id) = (self.provider.clone(), id.to_owned());
        self.run(async move { provider.renew(&id, lifetime).await })
            .await
    }

    fn refuses(&self, request: &InstanceRequest) -> Vec<Mistake> {
        self.provider.refuses(request)
    }

    async fn lacks(&self, request: &InstanceRequest) -> Result<Vec<Mistake>, ProviderError> {
        let (provider, request) = (self.provider.clone(), request.clone());
        self.run(async move { provider.lacks(&request).await })
            .await
    }

    fn reach(&self, address: &Address) -> Address {
        self.provider.reach(address)
    }

    fn voucher(&self) -> Option<&str> {
        self.provider.voucher()
    }

    fn forgets(&self) -> bool {
        self.provider.forgets()
    }

    fn hands_over(&self) -> bool {
        self.provider.hands_over()
    }

    fn beginnings(&self) -> u64 {
        self.provider.beginnings()
    }
}
