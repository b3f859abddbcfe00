//! The connection of a gateway or a worker to a broker in memory, which a test
//! cuts or makes deaf.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use thermocline_broker::{
    Announcements, Broker, BrokerError, DeadLetters, Deliveries, Delivery, Depth, Lost,
    MemoryBroker, Settle, Topic,
};
use tokio::sync::watch;

/// A delivery in the hands of who took it, until the connection is cut.
type Held = Mutex<Option<Delivery>>;

/// The connection; clones are the same one.
#[derive(Clone)]
pub struct Cable(Arc<Parts>);

struct Parts {
    broker: Arc<MemoryBroker>,
    whole: watch::Sender<bool>,
    /// Renewals do not arrive, and nobody says so.
    deaf: Mutex<bool>,
    held: Mutex<Vec<Weak<Held>>>,
}

impl Cable {
    /// A connection to `broker` that is whole.
    pub fn to(broker: Arc<MemoryBroker>) -> Self {
        Cable(Arc::new(Parts {
            broker,
            whole: watch::Sender::new(true),
            deaf: Mutex::default(),
            held: Mutex::default(),
        }))
    }

    /// The connection ends: what was taken through it goes back to the queues.
    pub fn cut(&self) {
        self.0.whole.send_replace(false);
        let held = std::mem::take(&mut *lock(&self.0.held));
        for held in held.iter().filter_map(Weak::upgrade) {
            lock(&held).take();
        }
    }

    /// It is whole again.
    pub fn restore(&self) {
        self.0.whole.send_replace(true);
    }

    /// Whether renewals of leases are lost on it from now on.
    pub fn lose_renewals(&self, lost: bool) {
        *lock(&self.0.deaf) = lost;
    }

    fn reached(&self) -> Result<&MemoryBroker, BrokerError> {
        match *self.0.whole.borrow() {
            true => Ok(&self.0.broker),
            false => Err(BrokerError::new("the connection is cut")),
        }
    }

    fn held(&self, delivery: Delivery) -> Delivery {
        let (body, attempts) = (delivery.body().clone(), delivery.attempts());
        let held = Arc::new(Mutex::new(Some(delivery)));
        lock(&self.0.held).push(Arc::downgrade(&held));
        let settle = Holding(held, self.clone());
        Delivery::new(body, attempts, Box::new(settle))
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Holding(Arc<Held>, Cable);

impl Holding {
    fn delivery(&self) -> Result<Delivery, Lost> {
        lock(&self.0).take().ok_or(Lost)
    }
}

#[async_trait]
impl Settle for Holding {
    async fn ack(self: Box<Self>) -> Result<(), Lost> {
        self.delivery()?.ack().await
    }

    async fn give_back(self: Box<Self>) -> Result<(), Lost> {
        self.delivery()?.give_back().await
    }

    async fn retry(self: Box<Self>, body: Bytes, delay: Duration) -> Result<(), Lost> {
        self.delivery()?.retry(body, delay).await
    }

    async fn bury(self: Box<Self>, body: Bytes, report: Bytes) -> Result<(), Lost> {
        self.delivery()?.bury(body, report).await
    }

    async fn renew(&self) -> Result<(), Lost> {
        if *lock(&self.1.0.deaf) {
            return Ok(());
        }
        let delivery = self.delivery()?;
        let renewed = delivery.renew().await;
        *lock(&self.0) = Some(delivery);
        renewed
    }
}

#[async_trait]
impl Broker for Cable {
    async fn publish(&self, queue: &str, body: Bytes) -> Result<(), BrokerError> {
        self.reached()?.publish(queue, body).await
    }

    async fn consume(&self, queue: &str, prefetch: u16) -> Result<Deliveries, BrokerError> {
        let deliveries = self.reached()?.consume(queue, prefetch).await?;
        let (cable, whole) = (self.clone(), self.0.whole.subscribe());
        let stream = futures_util::stream::unfold(
            (deliveries, whole, cable),
            |(mut deliveries, mut whole, cable)| async move {
                whole.wait_for(|whole| *whole).await.ok()?;
                let delivery = deliveries.next().await?;
                Some((cable.held(delivery), (deliveries, whole, cable)))
            },
        );
        Ok(stream.boxed())
    }

    async fn take(&self, queue: &str) -> Result<Option<Delivery>, BrokerError> {
        let taken = self.reached()?.take(queue).await?;
        Ok(taken.map(|delivery| self.held(delivery)))
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
        self.0.broker.lease()
    }

    fn available(&self) -> Result<(), BrokerError> {
        self.reached().map(|_| ())
    }
}
