//! The queues in RabbitMQ, for a fleet on several machines.
//!
//! A [`link::Link`] keeps a connection; each that it opens is a
//! [`session::Session`], which ends with the first thing that goes wrong. The
//! library's own recovery is not used: only so it is known that what a session
//! delivered is [`Lost`](crate::Lost) with it.

mod address;
mod aside;
mod declared;
mod envelope;
mod in_hand;
mod link;
mod look;
mod mend;
mod names;
mod publisher;
mod session;
mod shared;
mod silent;
mod standing;
mod subscription;
mod topics;
mod topology;
mod transport;
mod upkeep;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use lapin::options::BasicGetOptions;
use thermocline_clock::Clock;

use crate::{
    Announcements, Broker, BrokerError, Burial, DeadLetter, DeadLetters, Deliveries, Delivery,
    Depth, Limits, Topic,
};
pub use address::{NotAnAddress, RabbitMqAddress};
use aside::Aside;
use declared::Declared;
use envelope::Envelope;
use in_hand::hand_out;
use link::Link;
use look::look;
use names::Names;
use publisher::{Letter, Publisher};
use session::PATIENCE;
use shared::{Shared, unaborted};
use silent::silent;
use subscription::Subscription;
use topics::Listener;

/// Dead letters that one subscriber archives at a time.
const DEAD_LETTERS_AT_A_TIME: u16 = 32;

/// A broker whose queues are in RabbitMQ 3.10 or newer.
pub struct RabbitMq {
    shared: Arc<Shared>,
}

impl RabbitMq {
    /// Begins to connect, and never stops trying. `owner` keeps installations
    /// apart that share the server; it is a part of names there.
    pub fn start(address: RabbitMqAddress, owner: &str, limits: Limits, clock: Clock) -> Self {
        let names = Names::of(owner);
        let uri = address.into_uri();
        let aside = Aside::new(uri.clone(), clock.clone());
        let declared = Declared::new(aside, names.clone(), limits.clone(), clock.clone());
        let declared = Arc::new(declared);
        let link = |purpose| Link::start(purpose, uri.clone(), declared.clone(), clock.clone());
        let (publishing, consumers) = (link("publish"), link("consume"));
        let shared = Arc::new(Shared {
            publisher: Publisher::new(publishing, declared.clone(), clock.clone()),
            consumers,
            prefetch: tokio::sync::Mutex::default(),
            declared,
            names,
            limits,
            clock,
        });
        tokio::spawn(upkeep::run(Arc::downgrade(&shared)));
        RabbitMq { shared }
    }
}

#[async_trait]
impl Broker for RabbitMq {
    async fn publish(&self, queue: &str, body: Bytes) -> Result<(), BrokerError> {
        let envelope = Envelope::new(body);
        let key = self.shared.names.queue(queue);
        let letter = Letter {
            exchange: String::new(),
            queues: vec![key.clone()],
            key,
            properties: envelope.properties(),
            data: envelope.data(),
            mandatory: true,
        };
        self.shared.publish(letter).await
    }

    async fn consume(&self, queue: &str, prefetch: u16) -> Result<Deliveries, BrokerError> {
        let queue = self.shared.names.queue(queue);
        let subscription = Subscription::open(&self.shared, queue, prefetch).await?;
        Ok(Box::pin(stream::unfold(
            subscription,
            |mut it| async move {
                let (_, delivery) = it.next().await;
                Some((delivery, it))
            },
        )))
    }

    async fn take(&self, queue: &str) -> Result<Option<Delivery>, BrokerError> {
        let shared = self.shared.clone();
        let queue = self.shared.names.queue(queue);
        unaborted(tokio::spawn(take(shared, queue)).await)
    }

    async fn depth(&self, queue: &str) -> Result<Depth, BrokerError> {
        let name = self.shared.names.queue(queue);
        Ok(depth(&self.shared, &name).await?.unwrap_or_default())
    }

    async fn dead_letters(&self) -> Result<DeadLetters, BrokerError> {
        let dead = self.shared.names.dead();
        let subscription = Subscription::open(&self.shared, dead, DEAD_LETTERS_AT_A_TIME).await?;
        Ok(Box::pin(stream::unfold(
            subscription,
            |mut it| async move {
                let (burial, delivery) = it.next().await;
                Some((dead_letter(burial, delivery), it))
            },
        )))
    }

    async fn announce(&self, topic: Topic, body: Bytes) -> Result<(), BrokerError> {
        let letter = topics::announcement(&self.shared, topic, body);
        self.shared.publish(letter).await
    }

    async fn listen(&self, topic: Topic) -> Result<Announcements, BrokerError> {
        let listener = Listener::open(&self.shared, topic).await?;
        Ok(Box::pin(stream::unfold(listener, |mut it| async move {
            let body = it.next().await;
            Some((body, it))
        })))
    }

    fn lease(&self) -> Option<Duration> {
        None
    }

    fn available(&self) -> Result<(), BrokerError> {
        self.shared.publisher.link().available()?;
        self.shared.consumers.available()
    }
}

/// A message that says nothing of its burial was put there by a stranger.
fn dead_letter(burial: Option<(String, Burial)>, delivery: Delivery) -> DeadLetter {
    let (queue, burial) = burial.unwrap_or((String::new(), Burial::Undeliverable));
    DeadLetter {
        queue,
        burial,
        delivery,
    }
}

async fn take(shared: Arc<Shared>, queue: String) -> Result<Option<Delivery>, BrokerError> {
    if !shared.declared.knows(&queue).await && depth(&shared, &queue).await?.is_none() {
        return Ok(None);
    }
    let session = shared
        .consumers
        .session(shared.clock.now() + PATIENCE)
        .await?;
    shared.declared.ensure(&queue, &session).await?;
    let name = queue.as_str().into();
    let getting = session.channel.basic_get(name, BasicGetOptions::default());
    let got = session.ask(getting).await;
    let got = got.map_err(|error| silent(&queue).caused_by(error))?;
    Ok(got.map(|message| hand_out(&shared, &session, &queue, message.delivery).1))
}

async fn depth(shared: &Shared, queue: &str) -> Result<Option<Depth>, BrokerError> {
    let link = shared.publisher.link();
    let session = link.session(shared.clock.now() + PATIENCE).await?;
    look(shared.declared.aside(), &session, queue).await
}
