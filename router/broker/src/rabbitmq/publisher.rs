use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Channel, Confirmation};
use std::sync::Arc;
use std::time::Duration;
use thermocline_clock::Clock;
use thermocline_policy::Moment;

use super::declared::Declared;
use super::link::Link;
use super::mend;
use super::session::Session;
use super::silent::silent;
use crate::BrokerError;

/// The longest that publishing may take, over any number of connections.
const PATIENCE: Duration = Duration::from_secs(10);

/// How soon it is tried again to mend a queue that could not be.
const AGAIN: Duration = Duration::from_millis(250);

/// One message to be published.
#[derive(Clone)]
pub(super) struct Letter {
    /// Empty for the queue of the key's name.
    pub(super) exchange: String,
    /// The queue that it is for, at once or after a delay.
    pub(super) key: String,
    pub(super) properties: BasicProperties,
    pub(super) data: bytes::Bytes,
    /// The queues that it passes, which may have to be made: the first is where it lands.
    pub(super) queues: Vec<String>,
    /// Whether it must arrive in a queue.
    pub(super) mandatory: bool,
}

impl Letter {
    /// It was not confirmed in time, where the broker is there.
    fn unconfirmed(&self) -> BrokerError {
        match self.queues.first() {
            Some(queue) => silent(queue),
            None => BrokerError::new("not confirmed in time"),
        }
    }
}

/// Publishes until it is confirmed: on the next connection what the last one
/// did not confirm. So it may arrive twice, but not never. A broker that
/// crashes may forget a queue that it has just made, with what is in it; so
/// what comes into a new queue is there at once, and called published only
/// when the queue has settled.
pub(super) struct Publisher {
    link: Link,
    declared: Arc<Declared>,
    clock: Clock,
}

/// What became of a message.
pub(super) enum Fate {
    Confirmed,
    /// No queue takes it.
    Returned,
    /// Its queue could not be mended just now: another process does so, or the
    /// connection broke by which that is done.
    Unmended(BrokerError),
}

impl Publisher {
    pub(super) fn new(link: Link, declared: Arc<Declared>, clock: Clock) -> Self {
        Publisher {
            link,
            declared,
            clock,
        }
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    /// Publishes `letter`.
    ///
    /// # Errors
    /// When it was not confirmed in [`PATIENCE`], or the broker takes no messages.
    pub(super) async fn publish(&self, letter: &Letter) -> Result<(), BrokerError> {
        let deadline = self.clock.now() + PATIENCE;
        loop {
            let session = self.link.session(deadline).await?;
            if session.blocked() {
                return Err(BrokerError::new(
                    "it takes no messages: memory or disk is low",
                ));
            }
            let fate = self.attempt(letter, &session, deadline).await;
            match fate {
                Ok(Fate::Confirmed) if self.settled(letter).await => return Ok(()),
                Ok(Fate::Confirmed) => {}
                Ok(Fate::Returned) if letter.queues.is_empty() => {
                    return Err(BrokerError::new("no queue takes the message"));
                }
                Ok(Fate::Unmended(error)) if self.clock.now() + AGAIN >= deadline => {
                    return Err(error);
                }
                Ok(Fate::Unmended(_)) => self.clock.sleep(AGAIN).await,
                Ok(Fate::Returned) => letter.queues.iter().for_each(|it| self.declared.forget(it)),
                Err(error) if !session.is_lost() => return Err(error),
                Err(error) if self.clock.now() >= deadline => {
                    return Err(letter.unconfirmed().caused_by(error));
                }
                Err(_) => {}
            }
        }
    }

    /// Whether what was confirmed survives a crash of the broker.
    async fn settled(&self, letter: &Letter) -> bool {
        match letter.queues.first() {
            Some(queue) => self.declared.settles(queue).await,
            None => true,
        }
    }

    async fn attempt(
        &self,
        letter: &Letter,
        session: &Arc<Session>,
        deadline: Moment,
    ) -> Result<Fate, BrokerError> {
        let attempt = async {
            for queue in &letter.queues {
                self.declared.ensure(queue, session).await?;
            }
            if let Some(queue) = letter.queues.first()
                && let Some(doubt) = self.declared.doubt(queue).await
            {
                let mended = mend::publish(letter, self.declared.aside(), session, doubt).await;
                return Ok(mended.unwrap_or_else(Fate::Unmended));
            }
            let sent = session.ask(send(letter, &session.channel)).await?;
            fate(&sent)
        };
        let attempted = self.clock.timeout_at(deadline, attempt).await;
        attempted.map_err(|_| letter.unconfirmed())?
    }
}

/// Publishes `letter` on `channel`, until the broker has said what became of it.
pub(super) async fn send(letter: &Letter, channel: &Channel) -> lapin::Result<Confirmation> {
    let options = BasicPublishOptions {
        mandatory: letter.mandatory,
        ..BasicPublishOptions::default()
    };
    let (exchange, key) = (letter.exchange.as_str().into(), letter.key.as_str().into());
    let properties = letter.properties.clone();
    let confirm = channel.basic_publish(exchange, key, options, &letter.data, properties);
    confirm.await?.await
}

/// What the broker's word means.
pub(super) fn fate(confirmation: &Confirmation) -> Result<Fate, BrokerError> {
    match confirmation {
        Confirmation::Nack(_) => Err(BrokerError::new("it refused the message")),
        Confirmation::Ack(Some(_)) => Ok(Fate::Returned),
        Confirmation::Ack(None) | Confirmation::NotRequested => Ok(Fate::Confirmed),
    }
}
