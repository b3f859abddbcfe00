use std::sync::Arc;

use thermocline_clock::Clock;

use super::declared::Declared;
use super::link::Link;
use super::names::Names;
use super::publisher::{Letter, Publisher};
use crate::{BrokerError, Limits};

/// What everything that comes from one broker shares: two connections, since
/// one that is held back while publishing must not delay what is consumed.
pub(super) struct Shared {
    pub(super) publisher: Publisher,
    pub(super) consumers: Link,
    /// Held from setting a prefetch until the consumer that it is for exists.
    pub(super) prefetch: tokio::sync::Mutex<()>,
    pub(super) declared: Arc<Declared>,
    pub(super) names: Names,
    pub(super) limits: Limits,
    pub(super) clock: Clock,
}

impl Shared {
    /// Publishes in a task of its own, so that whoever stops waiting leaves no
    /// confirmation behind.
    pub(super) async fn publish(self: &Arc<Self>, letter: Letter) -> Result<(), BrokerError> {
        let shared = self.clone();
        let publishing = async move { shared.publisher.publish(&letter).await };
        unaborted(tokio::spawn(publishing).await)
    }
}

/// The result of a task that nobody aborts.
pub(super) fn unaborted<T>(
    ended: Result<Result<T, BrokerError>, tokio::task::JoinError>,
) -> Result<T, BrokerError> {
    ended.unwrap_or_else(|error| Err(BrokerError::new("the process ends").caused_by(error)))
}
