//! Every queue in this process, for one machine that is gateway and worker at once.
//!
//! [`State`] is what the queues hold and what is due when; it takes the time
//! as an argument. [`Shared`] is that behind a lock which is never held while
//! anything waits, and a task that does what is due.

mod queue;
mod settle;
mod shared;
mod state;
mod stream;
#[cfg(test)]
mod tests;
mod timetable;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use thermocline_clock::Clock;
use tokio::sync::broadcast;

use crate::{
    Announcements, Broker, BrokerError, DeadLetters, Deliveries, Delivery, Depth, Limits, Topic,
};
use shared::Shared;
use state::{Message, Place};
use stream::Subscription;

/// A broker whose queues are in this process and end with it.
pub struct MemoryBroker {
    shared: Arc<Shared>,
    demand: broadcast::Sender<Bytes>,
    report: broadcast::Sender<Bytes>,
    lease: Duration,
}

impl MemoryBroker {
    /// A broker without a message. It has a task of its own, so it must be
    /// made inside a runtime; the task ends with the last that uses the broker.
    pub fn new(clock: Clock, limits: &Limits) -> Self {
        let kept = usize::from(limits.announcements.max(1));
        MemoryBroker {
            shared: Shared::start(clock, limits),
            demand: broadcast::Sender::new(kept),
            report: broadcast::Sender::new(kept),
            lease: limits.lease,
        }
    }

    fn topic(&self, topic: Topic) -> &broadcast::Sender<Bytes> {
        match topic {
            Topic::Demand => &self.demand,
            Topic::Report => &self.report,
        }
    }

    fn subscribe(&self, place: Place, prefetch: u16) -> Subscription {
        Subscription::new(&self.shared, place, usize::from(prefetch.max(1)))
    }
}

#[async_trait]
impl Broker for MemoryBroker {
    async fn publish(&self, queue: &str, body: Bytes) -> Result<(), BrokerError> {
        let place = Place::queue(queue);
        self.shared
            .with(|state, now| state.publish(place, Message::new(body), now));
        Ok(())
    }

    async fn consume(&self, queue: &str, prefetch: u16) -> Result<Deliveries, BrokerError> {
        let messages = self.subscribe(Place::queue(queue), prefetch);
        let shared = self.shared.clone();
        Ok(messages
            .map(move |held| settle::delivery(&shared, held))
            .boxed())
    }

    async fn take(&self, queue: &str) -> Result<Option<Delivery>, BrokerError> {
        let place = Place::queue(queue);
        let held = self.shared.with(|state, now| state.take(&place, now));
        Ok(held.map(|held| settle::delivery(&self.shared, held)))
    }

    async fn depth(&self, queue: &str) -> Result<Depth, BrokerError> {
        let place = Place::queue(queue);
        Ok(self.shared.with(|state, _| state.depth(&place)))
    }

    async fn dead_letters(&self) -> Result<DeadLetters, BrokerError> {
        let letters = self.subscribe(Place::Dead, DEAD_LETTERS_AT_A_TIME);
        let shared = self.shared.clone();
        Ok(letters
            .map(move |held| settle::dead_letter(&shared, held))
            .boxed())
    }

    async fn announce(&self, topic: Topic, body: Bytes) -> Result<(), BrokerError> {
        // An error says that nobody listens, which is no fault.
        let _ = self.topic(topic).send(body);
        Ok(())
    }

    async fn listen(&self, topic: Topic) -> Result<Announcements, BrokerError> {
        Ok(stream::announcements(self.topic(topic).subscribe()))
    }

    fn lease(&self) -> Option<Duration> {
        Some(self.lease)
    }

    fn available(&self) -> Result<(), BrokerError> {
        Ok(())
    }
}

/// Dead letters that one subscriber archives at a time.
const DEAD_LETTERS_AT_A_TIME: u16 = 32;
