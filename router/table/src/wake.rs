use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use thermocline_policy::{Moment, Tier, Transition};
use thiserror::Error;

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

/// How the request plane asks the control plane for capacity.
#[async_trait]
pub trait Wake: Send + Sync + 'static {
    /// Brings `tier` up; returns once a backend of it takes work.
    ///
    /// # Errors
    /// [`StartFailed`] once it is certain that this start will not.
    async fn wake(&self, deployment: &Arc<Deployment>, tier: Tier) -> Result<(), StartFailed>;

    /// A decision changed the deployment's tier.
    fn transitioned(&self, deployment: &Arc<Deployment>, transition: Transition, now: Moment);

    /// Whether the paid instance of this id is gone, which could not be reached or in
    /// whose place something answered that there is no such thing. Once that is
    /// known it takes no more work, and another is on its way.
    async fn is_gone(&self, instance: &str) -> bool;
}
