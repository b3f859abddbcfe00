use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::Lost;

/// A message in somebody's hands. Dropping it unsettled gives it up: it is
/// delivered again, as if its holder had died.
pub struct Delivery {
    body: Bytes,
    attempts: u32,
    settle: Box<dyn Settle>,
}

impl Delivery {
    /// A delivery that `settle` settles; `attempts` have been made before it.
    pub fn new(body: Bytes, attempts: u32, settle: Box<dyn Settle>) -> Self {
        Delivery {
            body,
            attempts,
            settle,
        }
    }

    /// What was published.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Attempts before this one: those that [`Delivery::retry`] counted, and
    /// the deliveries whose holders never settled them.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Done: the queue forgets it.
    ///
    /// # Errors
    /// [`Lost`] when it was another's by then.
    pub async fn ack(self) -> Result<(), Lost> {
        self.settle.ack().await
    }

    /// Not begun: back to the queue for somebody else; no attempt is counted.
    ///
    /// # Errors
    /// [`Lost`] when it was another's by then.
    pub async fn give_back(self) -> Result<(), Lost> {
        self.settle.give_back().await
    }

    /// Failed: `body` in its place after `delay`, with one attempt more.
    ///
    /// # Errors
    /// [`Lost`] when it was another's by then; nothing was published.
    pub async fn retry(self, body: Bytes, delay: Duration) -> Result<(), Lost> {
        self.settle.retry(body, delay).await
    }

    /// Given up: `body` becomes a dead letter, with a report for its processor.
    ///
    /// # Errors
    /// [`Lost`] when it was another's by then; it is no dead letter then.
    pub async fn bury(self, body: Bytes, report: Bytes) -> Result<(), Lost> {
        self.settle.bury(body, report).await
    }

    /// Still at it: the lease begins anew.
    ///
    /// # Errors
    /// [`Lost`] when it had run out; the work in hand is then for nothing.
    pub async fn renew(&self) -> Result<(), Lost> {
        self.settle.renew().await
    }
}

/// How an implementation settles a delivery; see [`Delivery`] for each.
#[async_trait]
#[allow(missing_docs)]
pub trait Settle: Send + Sync {
    async fn ack(self: Box<Self>) -> Result<(), Lost>;
    async fn give_back(self: Box<Self>) -> Result<(), Lost>;
    async fn retry(self: Box<Self>, body: Bytes, delay: Duration) -> Result<(), Lost>;
    async fn bury(self: Box<Self>, body: Bytes, report: Bytes) -> Result<(), Lost>;
    async fn renew(&self) -> Result<(), Lost>;
}
