use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use lapin::Acker;
use lapin::options::{BasicAckOptions, BasicNackOptions};

use super::envelope::Envelope;
use super::publisher::Letter;
use super::session::Session;
use super::shared::Shared;
use crate::{Burial, Delivery, Lost, Settle};

/// A delivery in somebody's hands.
///
/// What goes back is published anew and then acknowledged, not rejected: what
/// a rejection counts depends on the broker's version. Where the broker fails
/// between the two, the message is there twice.
pub(super) struct InHand {
    held: Option<Held>,
}

struct Held {
    shared: Arc<Shared>,
    session: Arc<Session>,
    acker: Acker,
    /// The queue that it came from.
    queue: String,
    envelope: Envelope,
}

/// Why a message is published anew.
enum Return {
    /// Nobody began with it.
    Untouched,
    /// Its attempt failed, and is counted.
    Failed { body: Bytes, delay: Duration },
    /// It is dead.
    Dead { body: Bytes, report: Bytes },
}

/// `delivery`, which came from `queue` by `session`, as its holder sees it.
pub(super) fn hand_out(
    shared: &Arc<Shared>,
    session: &Arc<Session>,
    queue: &str,
    delivery: lapin::message::Delivery,
) -> (Option<(String, Burial)>, Delivery) {
    let envelope = Envelope::open(&delivery.properties, delivery.data, &shared.names);
    let (body, attempts) = (envelope.body.clone(), envelope.attempts);
    let burial = envelope.burial.clone();
    let held = Held {
        shared: shared.clone(),
        session: session.clone(),
        acker: delivery.acker,
        queue: queue.to_owned(),
        envelope,
    };
    let in_hand = InHand { held: Some(held) };
    (burial, Delivery::new(body, attempts, Box::new(in_hand)))
}

impl Held {
    async fn ack(&self) -> Result<(), Lost> {
        if self.session.is_lost() {
            return Err(Lost);
        }
        let acked = self.session.ask(self.acker.ack(BasicAckOptions::default()));
        match acked.await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(Lost),
        }
    }

    /// Publishes it anew, then takes this one off the queue.
    async fn return_as(self, what: Return) -> Result<(), Lost> {
        if self.session.is_lost() || !self.acker.usable() {
            return Err(Lost);
        }
        let letter = self.letter(what);
        if let Err(error) = self.shared.publisher.publish(&letter).await {
            tracing::warn!(%error, "a message that goes back is rejected instead");
            self.reject().await;
            return Err(Lost);
        }
        // It is where it belongs by now; at worst this one is there too.
        let _ = self.ack().await;
        Ok(())
    }

    /// The way back where nothing can be published; what it counts is the broker's to say.
    async fn reject(&self) {
        let back = BasicNackOptions {
            requeue: true,
            ..BasicNackOptions::default()
        };
        let _ = self.session.ask(self.acker.nack(back)).await;
    }

    fn letter(&self, what: Return) -> Letter {
        let names = &self.shared.names;
        let mut envelope = self.envelope.clone();
        let mut exchange = String::new();
        let mut key = self.queue.clone();
        let properties = match what {
            Return::Untouched => envelope.properties_first(),
            Return::Failed { body, delay } => {
                envelope.body = body;
                envelope.attempts = envelope.attempts.saturating_add(1);
                if !delay.is_zero() {
                    exchange = names.delay_of(delay);
                }
                envelope.properties()
            }
            Return::Dead { body, report } => {
                envelope.body = body;
                let known = envelope.burial.take().map(|(queue, _)| queue);
                let from =
                    known.unwrap_or_else(|| names.deployment(&key).unwrap_or(&key).to_owned());
                envelope.burial = Some((from, Burial::GivenUp { report }));
                key = names.dead();
                envelope.properties()
            }
        };
        Letter {
            queues: passes(&exchange, &key),
            exchange,
            key,
            properties,
            data: envelope.data(),
            mandatory: true,
        }
    }
}

/// The queues on the way to `key`: a delay has the name of its exchange.
fn passes(exchange: &str, key: &str) -> Vec<String> {
    let all = [exchange, key].into_iter();
    all.filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

impl InHand {
    fn take(&mut self) -> Result<Held, Lost> {
        self.held.take().ok_or(Lost)
    }

    /// In a task of its own, so that whoever stops waiting leaves nothing half done.
    async fn finish(mut self: Box<Self>, what: Return) -> Result<(), Lost> {
        let held = self.take()?;
        let returned = tokio::spawn(held.return_as(what)).await;
        returned.unwrap_or(Err(Lost))
    }
}

#[async_trait]
impl Settle for InHand {
    async fn ack(mut self: Box<Self>) -> Result<(), Lost> {
        let held = self.take()?;
        let acked = tokio::spawn(async move { held.ack().await }).await;
        acked.unwrap_or(Err(Lost))
    }

    async fn give_back(self: Box<Self>) -> Result<(), Lost> {
        self.finish(Return::Untouched).await
    }

    async fn retry(self: Box<Self>, body: Bytes, delay: Duration) -> Result<(), Lost> {
        self.finish(Return::Failed { body, delay }).await
    }

    async fn bury(self: Box<Self>, body: Bytes, report: Bytes) -> Result<(), Lost> {
        self.finish(Return::Dead { body, report }).await
    }

    async fn renew(&self) -> Result<(), Lost> {
        let held = self.held.as_ref().ok_or(Lost)?;
        let kept = held.acker.usable() && !held.session.is_lost();
        kept.then_some(()).ok_or(Lost)
    }
}

impl Drop for InHand {
    /// Given up: back with one attempt more. Where the runtime ends too, so
    /// does the connection, and the broker does the same.
    fn drop(&mut self) {
        let (Some(held), Ok(runtime)) = (self.held.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let body = held.envelope.body.clone();
        let delay = Duration::ZERO;
        runtime.spawn(held.return_as(Return::Failed { body, delay }));
    }
}
