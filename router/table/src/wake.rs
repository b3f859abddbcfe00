use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use thermocline_policy::{Moment, Tier, Transition};
use thiserror::Error;
use tokio::sync::Notify;

use crate::Deployment;

/// A start that did not end with a backend.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{detail}")]
pub struct StartFailed {
    /// The word for it: `no_capacity`, `start_failed`, `port_conflict`, …
    pub code: &'static str,
    /// For the operator; clients read a sentence of ours instead.
    pub detail: String,
    /// Not before this is another attempt worth it.
    pub retry_after: Duration,
}

/// For whom a start is wished: for requests that wait for it, or for a decision that
/// stands whoever waits.
#[derive(Debug, Default)]
pub struct Wish {
    waiting: AtomicU32,
    stands: AtomicBool,
    left: Notify,
}

impl Wish {
    /// One that stands whoever waits.
    pub fn standing() -> Arc<Self> {
        let wish = Wish::default();
        wish.stand();
        Arc::new(wish)
    }

    /// It stands from now on, whoever waits.
    pub fn stand(&self) {
        self.stands.store(true, Ordering::Release);
    }

    /// One more waits.
    pub fn join(&self) {
        self.waiting.fetch_add(1, Ordering::AcqRel);
    }

    /// One of those who wait has left.
    pub fn leave(&self) {
        if self.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.left.notify_waiters();
        }
    }

    /// How many wait.
    pub fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::Acquire)
    }

    /// Whether the last who waited has left, and it does not stand without them.
    pub fn is_given_up(&self) -> bool {
        self.waiting() == 0 && !self.stands.load(Ordering::Acquire)
    }

    /// Waits until it is given up.
    pub async fn given_up(&self) {
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            left.as_mut().enable();
            if self.is_given_up() {
                return;
            }
            left.await;
        }
    }
}

/// The code of a start that was not begun, since nobody waited for it any more.
pub const GIVEN_UP: &str = "given_up";

/// How the request plane asks the control plane for capacity.
#[async_trait]
pub trait Wake: Send + Sync + 'static {
    /// Brings `tier` up; returns once a backend of it takes work. What is under way
    /// when `wish` is given up goes on; nothing is begun for it any more.
    ///
    /// # Errors
    /// [`StartFailed`] once it is certain that this start will not.
    async fn wake(
        &self,
        deployment: &Arc<Deployment>,
        tier: Tier,
        wish: &Arc<Wish>,
    ) -> Result<(), StartFailed>;

    /// A decision changed the deployment's tier.
    fn transitioned(&self, deployment: &Arc<Deployment>, transition: Transition, now: Moment);

    /// Whether the provider says that there is no paid instance of this id, which could
    /// not be reached or in whose place something answered that there is no such
    /// thing. False at once where the provider is known not to answer.
    async fn is_missing(&self, instance: &str) -> bool;

    /// Whether it says so of a missing one once more. Then the instance takes no more
    /// work, and another is on its way.
    async fn is_gone(&self, instance: &str) -> bool;
}
