//! What Thermocline asks of a provider, and how an adapter is proven.
//!
//! A provider is anything that makes instances exist for money or memory: a
//! cloud, the local Docker daemon, a plugin. An adapter implements
//! [`Provider`]; [`conformance`] holds the clauses that each must pass.

mod address;
pub mod cloud;
pub mod conformance;
mod error;
pub mod fleet;
mod gpu;
mod mistake;

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use thermocline_policy::Tier;
pub use thermocline_wire::provider::{
    Address, Capabilities, FleetRequest, InstancePage, InstanceRequest, Mistake, Offer, PROTOCOL,
    Place, ProviderInstance, ProviderState,
};

pub use address::check_address;
pub use error::{ProviderError, ProviderErrorKind};
pub use gpu::{ConfiguredGpus, Gpu, GpuProbe, ProbeError};
pub use mistake::unknown_gpu;

/// Which offers are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferQuery {
    /// The tier.
    pub tier: Tier,
    /// The memory floor, MiB of GPU memory.
    pub vram_mib: u64,
    /// How many GPUs.
    pub gpus: u32,
}

/// What a delete was answered with. Neither proves absence: a later
/// [`Provider::get`] and list do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// The provider accepted it.
    Accepted,
    /// The provider does not know it (any more).
    Unknown,
}

/// The calls of the provider protocol.
///
/// Every call is bounded in time by its adapter. `create` is idempotent on
/// `key`: repeating it returns the instance that is there, so after an answer
/// that never came the same call again is the way to look.
#[async_trait]
pub trait Provider: Send + Sync {
    /// What the adapter is and can do.
    ///
    /// # Errors
    /// [`ProviderError`] when it cannot be asked.
    async fn capabilities(&self) -> Result<Capabilities, ProviderError>;

    /// What could be had now, and for how much.
    ///
    /// # Errors
    /// [`ProviderError`] when the provider does not say.
    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError>;

    /// Makes the instance `key` exist, or returns the one that does.
    ///
    /// # Errors
    /// [`ProviderError`]; only [`ProviderError::before_effect`] says that nothing was made.
    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError>;

    /// One instance; `None` when the provider does not know the id.
    ///
    /// # Errors
    /// [`ProviderError`], which says nothing about whether it exists.
    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError>;

    /// One page of what belongs to `owner`.
    ///
    /// # Errors
    /// [`ProviderError`], which says nothing about what exists.
    async fn list(&self, owner: &str, cursor: Option<&str>) -> Result<InstancePage, ProviderError>;

    /// Asks for an instance to be deleted; asking twice is fine.
    ///
    /// # Errors
    /// [`ProviderError`] when the provider refused or could not be asked.
    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError>;

    /// Lets the instance `id` live for `lifetime` again, from now on, for ever
    /// where that is zero; false when the provider does not know it. For those
    /// alone whose capabilities say `lifetimes`.
    ///
    /// # Errors
    /// [`ProviderError`] when the provider refused or could not be asked.
    async fn renew(&self, _id: &str, _lifetime: Duration) -> Result<bool, ProviderError> {
        Ok(true)
    }

    /// Whether it changes in place how many workers a serverless endpoint may have;
    /// where it does not, another number needs another endpoint.
    fn resizes(&self) -> bool {
        false
    }

    /// Lets the endpoint `id` have at most `max_workers` workers from now on, and
    /// keeps it so; false when the provider does not know it. For those alone that
    /// [`resize`](Self::resizes).
    ///
    /// # Errors
    /// [`ProviderError`] when the provider refused or could not be asked.
    async fn resize(&self, _id: &str, _max_workers: u32) -> Result<bool, ProviderError> {
        Ok(true)
    }

    /// What it can never do of `request`, as far as it knows without asking.
    fn refuses(&self, _request: &InstanceRequest) -> Vec<Mistake> {
        Vec::new()
    }

    /// What its catalogue does not have of what `request` asks for, be it there
    /// just now or not; nothing is made. For those alone whose capabilities say `checks`.
    ///
    /// # Errors
    /// [`ProviderError`] when the catalogue cannot be had.
    async fn lacks(&self, _request: &InstanceRequest) -> Result<Vec<Mistake>, ProviderError> {
        Ok(Vec::new())
    }

    /// `address` as this process reaches it. An address is written down; what
    /// must not be, as the account's key, is added here each time it is used.
    fn reach(&self, address: &Address) -> Address {
        address.clone()
    }

    /// What [`VOUCHER_HEADER`](thermocline_policy::VOUCHER_HEADER) holds on answers
    /// that are its own and no model's: they are counted as the router's own. For
    /// those alone that answer within this process; nobody else may learn it.
    fn voucher(&self) -> Option<&str> {
        None
    }

    /// Whether it knows only what this process has told it, as where an
    /// instance is but a queue: what an earlier process had is created again,
    /// under its key.
    fn forgets(&self) -> bool {
        false
    }

    /// Whether what one of a deployment's instances has in hand is done by another
    /// of them once it is gone, as where all stand for one queue.
    fn hands_over(&self) -> bool {
        false
    }

    /// How often what is behind it has begun anew, with nothing of what there
    /// was; 0 where that cannot be.
    fn beginnings(&self) -> u64 {
        0
    }
}

/// Every page of [`Provider::list`]; `complete` only if every page was.
///
/// # Errors
/// The first page's error that came; [`ProviderErrorKind::Unavailable`] where a cursor
/// comes again, so that the pages never end.
pub async fn list_all(
    provider: &dyn Provider,
    owner: &str,
) -> Result<(Vec<ProviderInstance>, bool), ProviderError> {
    const MOST_PAGES: usize = 1_000;
    let (mut all, mut complete, mut cursor) = (Vec::new(), true, None);
    let mut cursors = HashSet::new();
    for _ in 0..MOST_PAGES {
        let page = provider.list(owner, cursor.as_deref()).await?;
        complete &= page.complete;
        all.extend(page.instances);
        match page.next {
            Some(next) if !cursors.insert(next.clone()) => return Err(endless()),
            Some(next) => cursor = Some(next),
            None => return Ok((all, complete)),
        }
    }
    Ok((all, false))
}

fn endless() -> ProviderError {
    let detail = "its list never ends: it gives the same cursor twice";
    ProviderError::new(ProviderErrorKind::Unavailable, detail)
}
