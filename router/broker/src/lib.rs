//! The shared fleet's queues: the only thing between gateways and workers.
//!
//! A [`Broker`] holds one queue per deployment. A message is small, since
//! payloads never travel through it. It is delivered at least once, in the
//! queue's order, and stays the queue's until its [`Delivery`] is settled: a
//! worker acknowledges last, so what a lost worker held is delivered again.

pub mod conformance;
mod delivery;
mod error;
mod limits;
mod memory;
mod rabbitmq;

use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;

pub use delivery::{Delivery, Settle};
pub use error::{BrokerError, Lost, Obstacle};
pub use limits::Limits;
pub use memory::MemoryBroker;
pub use rabbitmq::{NotAnAddress, RabbitMq, RabbitMqAddress};

/// Deliveries of one queue, as they come. Dropping it ends the subscription;
/// what was delivered and is not settled stays with its holder. It outlives
/// the broker's restarts: deliveries of before are then [`Lost`].
pub type Deliveries = Pin<Box<dyn Stream<Item = Delivery> + Send>>;

/// What is announced on a topic from now on.
pub type Announcements = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// What everybody may say and hear. Announcements are never kept: who does not
/// listen misses them, so each says all that it is about again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Gateways: which queues have work waiting.
    Demand,
    /// Workers: what they hold and do.
    Report,
}

/// How deep a queue is, and who serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Messages that nobody has taken.
    pub waiting: u64,
    /// Subscriptions to it.
    pub consumers: u32,
}

/// Why a message is among the dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Burial {
    /// A worker gave it up, and says what it knows.
    GivenUp {
        /// For the processor of dead letters; opaque here.
        report: Bytes,
    },
    /// The broker's own limit on deliveries was passed: nobody ever settled it.
    Undeliverable,
}

/// A dead letter, to be archived and then acknowledged.
pub struct DeadLetter {
    /// The queue that it was in.
    pub queue: String,
    /// Why it is here.
    pub burial: Burial,
    /// The message. Acknowledge it once it is archived; it is delivered again otherwise.
    pub delivery: Delivery,
}

/// Dead letters of every queue of an installation, as they come.
pub type DeadLetters = Pin<Box<dyn Stream<Item = DeadLetter> + Send>>;

/// Queues that expire, deliveries that come back, dead letters, announcements.
///
/// Queues are named by deployment; an implementation keeps installations that
/// share a broker apart. Every call is bounded in time by its implementation
/// and fails as [`BrokerError`] while the broker is away.
#[async_trait]
pub trait Broker: Send + Sync {
    /// Puts `body` at the end of `queue`, which comes into being with it.
    /// Returns once the broker has taken responsibility for the message.
    ///
    /// # Errors
    /// [`BrokerError`]; whether the message is in the queue is then unknown.
    async fn publish(&self, queue: &str, body: Bytes) -> Result<(), BrokerError>;

    /// Subscribes to `queue`, with at most `prefetch` unsettled deliveries at a
    /// time. What exceeds it stays visible in the queue.
    ///
    /// # Errors
    /// [`BrokerError`] when the subscription could not be made.
    async fn consume(&self, queue: &str, prefetch: u16) -> Result<Deliveries, BrokerError>;

    /// Takes the first message that waits in `queue`, if one does.
    ///
    /// # Errors
    /// [`BrokerError`] when the broker could not be asked.
    async fn take(&self, queue: &str) -> Result<Option<Delivery>, BrokerError>;

    /// How deep `queue` is; nothing at all where there is no such queue.
    ///
    /// # Errors
    /// [`BrokerError`] when the broker could not be asked.
    async fn depth(&self, queue: &str) -> Result<Depth, BrokerError>;

    /// Subscribes to the dead letters.
    ///
    /// # Errors
    /// [`BrokerError`] when the subscription could not be made.
    async fn dead_letters(&self) -> Result<DeadLetters, BrokerError>;

    /// Tells `body` to whoever listens to `topic` now.
    ///
    /// # Errors
    /// [`BrokerError`] when it could not be said.
    async fn announce(&self, topic: Topic, body: Bytes) -> Result<(), BrokerError>;

    /// Listens to `topic` from now on. A listener that is slow misses the oldest.
    ///
    /// # Errors
    /// [`BrokerError`] when one cannot listen.
    async fn listen(&self, topic: Topic) -> Result<Announcements, BrokerError>;

    /// How long a delivery is its holder's without [`Delivery::renew`]; `None`
    /// where the holder's connection is what keeps it.
    fn lease(&self) -> Option<Duration>;

    /// Whether the broker is there now, as far as is known without asking it.
    ///
    /// # Errors
    /// [`BrokerError`] while it is away, with the reason.
    fn available(&self) -> Result<(), BrokerError>;
}
