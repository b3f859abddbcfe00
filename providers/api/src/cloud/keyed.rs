use std::time::Duration;

use async_trait::async_trait;

use crate::{
    Address, Capabilities, Deletion, InstancePage, InstanceRequest, Mistake, Offer, OfferQuery,
    Provider, ProviderError, ProviderErrorKind, ProviderInstance,
};

/// A provider whose key comes from somewhere: where it is refused, whoever has to
/// renew it is told. Providers on one account may each have it from elsewhere.
#[derive(Debug)]
pub struct Keyed<P> {
    provider: P,
    origin: String,
}

impl<P> Keyed<P> {
    /// `provider`, whose key comes from `origin`, as a variable's name.
    pub fn new(provider: P, origin: String) -> Self {
        Keyed { provider, origin }
    }

    fn told<T>(&self, answer: Result<T, ProviderError>) -> Result<T, ProviderError> {
        answer.map_err(|mut error| {
            if error.kind == ProviderErrorKind::Auth {
                let (origin, detail) = (&self.origin, &error.detail);
                error.detail = format!("the key from {origin} was refused: {detail}");
            }
            error
        })
    }
}

#[async_trait]
impl<P: Provider> Provider for Keyed<P> {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        self.told(self.provider.capabilities().await)
    }

    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        self.told(self.provider.offers(query).await)
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        self.told(self.provider.create(key, request).await)
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        self.told(self.provider.get(id).await)
    }

    async fn list(&self, owner: &str, cursor: Option<&str>) -> Result<InstancePage, ProviderError> {
        self.told(self.provider.list(owner, cursor).await)
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        self.told(self.provider.delete(id).await)
    }

    async fn renew(&self, id: &str, lifetime: Duration) -> Result<bool, ProviderError> {
        self.told(self.provider.renew(id, lifetime).await)
    }

    fn resizes(&self) -> bool {
        self.provider.resizes()
    }

    async fn resize(&self, id: &str, max_workers: u32) -> Result<bool, ProviderError> {
        self.told(self.provider.resize(id, max_workers).await)
    }

    fn refuses(&self, request: &InstanceRequest) -> Vec<Mistake> {
        self.provider.refuses(request)
    }

    async fn lacks(&self, request: &InstanceRequest) -> Result<Vec<Mistake>, ProviderError> {
        self.told(self.provider.lacks(request).await)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_key_is_told_with_where_each_provider_has_it_from() {
        let told = |origin: &str, kind| {
            let refused = Err::<(), _>(ProviderError::new(kind, "no"));
            let keyed = Keyed::new((), origin.to_owned());
            keyed.told(refused).unwrap_err().detail
        };
        let auth = ProviderErrorKind::Auth;
        assert_eq!(told("ONE", auth), "the key from ONE was refused: no");
        assert_eq!(told("TWO", auth), "the key from TWO was refused: no");
        assert_eq!(told("ONE", ProviderErrorKind::Quota), "no");
    }
}
