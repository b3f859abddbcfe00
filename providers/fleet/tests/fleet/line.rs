//! A gateway's connection to the broker, which a test cuts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use thermocline_broker::{
    Announcements, Broker, BrokerError, DeadLetters, Deliveries, Delivery, Depth, MemoryBroker,
    Topic,
};

pub(crate) struct Line {
    broker: Arc<MemoryBroker>,
    cut: AtomicBool,
}

impl Line {
    pub(crate) fn to(broker: Arc<MemoryBroker>) -> Arc<Line> {
        Arc::new(Line {
            broker,
            cut: AtomicBool::new(false),
        })
    }

    /// Whether the broker is away from now on.
    pub(crate) fn cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::SeqCst);
    }

    fn reached(&self) -> Result<&MemoryBroker, BrokerError> {
        match self.cut.load(Ordering::SeqCst) {
            true => Err(BrokerError::new("the line is cut")),
            false => Ok(&self.broker),
        }
    }
}

#[async_trait]
impl Broker for Line {
    async fn publish(&self, queue: &str, body: Bytes) -> Result<(), BrokerError> {
        self.reached()?.publish(queue, body).await
    }

    async fn consume(&self, queue: &str, prefetch: u16) -> Result<Deliveries, BrokerError> {
        self.reached()?.consume(queue, prefetch).await
    }

    async fn take(&self, queue: &str) -> Result<Option<Delivery>, BrokerError> {
        self.reached()?.take(queue).await
    }

    async fn depth(&self, queue: &str) -> Result<Depth, BrokerError> {
        self.reached()?.depth(queue).await
    }

    async fn dead_letters(&self) -> Result<DeadLetters, BrokerError> {
        self.reached()?.dead_letters().await
    }

    async fn announce(&self, topic: Topic, body: Bytes) -> Result<(), BrokerError> {
        self.reached()?.announce(topic, body).await
    }

    async fn listen(&self, topic: Topic) -> Result<Announcements, BrokerError> {
        self.reached()?.listen(topic).await
    }

    fn lease(&self) -> Option<Duration> {
        self.broker.lease()
    }

    fn available(&self) -> Result<(), BrokerError> {
        self.reached().map(drop)
    }
}
