//! A queue of which a crash of the broker has left nothing but the name.
//!
//! RabbitMQ writes down a moment after a quorum queue is made where its log
//! is. A server that is alone and crashes before that finds the name again and
//! begins a log that never gets a leader: the queue is there, takes nothing and
//! gives nothing, until it is deleted. That is done here, where it harms nobody:
//! we made the queue, nothing that was in it was called published yet, it seems
//! empty, and it does not take a message.

use std::time::Duration;

use lapin::Channel;
use lapin::options::{ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::protocol::AMQPSoftError;
use lapin::types::AMQPValue;

use super::declared::{Doubt, is};
use super::look::look;
use super::publisher::{Fate, Letter, fate, send};
use super::session::{Session, table};
use crate::{BrokerError, Depth};

/// How long a queue may take to confirm a message before it counts as silent.
const TRIAL: Duration = Duration::from_secs(3);

/// How long the server may take to delete a queue; it asks the queue itself for
/// five seconds first.
const DELETION: Duration = Duration::from_secs(20);

/// How long the lock of who does not give it back stands, in milliseconds: longer
/// than a trial, a deletion and the calls between take.
const LOCK_MS: i64 = 60_000;

/// Publishes `letter` to a doubtful queue; [`Fate::Returned`] once a silent one
/// is no more. Under `lock` one process of the installation does so at a time.
pub(super) async fn publish(
    letter: &Letter,
    session: &Session,
    doubt: Doubt,
    lock: &str,
) -> Result<Fate, BrokerError> {
    let channel = session.ask(session.side_channel()).await?;
    take_lock(&channel, session, lock).await?;
    let published = try_out(letter, session, doubt).await;
    let unlocking = channel.queue_delete(lock.into(), QueueDeleteOptions::default());
    // Where that fails the session is lost, and the lock with it; where nobody waits
    // for this any more, the lock runs out.
    let _ = session.ask(unlocking).await;
    published
}

/// An exclusive queue is a lock: it belongs to a connection, and goes with it.
async fn take_lock(channel: &Channel, session: &Session, lock: &str) -> Result<(), BrokerError> {
    let options = QueueDeclareOptions {
        exclusive: true,
        ..QueueDeclareOptions::default()
    };
    let runs_out = table([("x-expires", AMQPValue::LongLongInt(LOCK_MS))]);
    let locking = channel.queue_declare(lock.into(), options, runs_out);
    match session.try_ask(locking).await? {
        Ok(_) => Ok(()),
        Err(error) if is(&error, &AMQPSoftError::RESOURCELOCKED) => {
            Err(BrokerError::new("a queue is being mended"))
        }
        Err(error) => Err(BrokerError::new("a queue could not be mended").caused_by(error)),
    }
}

async fn try_out(letter: &Letter, session: &Session, doubt: Doubt) -> Result<Fate, BrokerError> {
    let channel = session.ask(session.side_channel()).await?;
    let confirming = channel.confirm_select(ConfirmSelectOptions::default());
    session.ask(confirming).await?;
    if let Some(confirmed) = session.wait(send(letter, &channel), TRIAL).await? {
        let confirmed = confirmed.map_err(|error| session.broken(error))?;
        doubt.dispel();
        return fate(&confirmed);
    }
    if look(session, &letter.key).await? != Some(Depth::default()) {
        return Err(BrokerError::new("a queue does not answer"));
    }
    tracing::warn!(
        queue = letter.key,
        "a queue that a crash left behind is made anew"
    );
    delete(&letter.key, session).await?;
    Ok(Fate::Returned)
}

async fn delete(queue: &str, session: &Session) -> Result<(), BrokerError> {
    let channel = session.ask(session.side_channel()).await?;
    let deleting = channel.queue_delete(queue.into(), QueueDeleteOptions::default());
    match session.wait(deleting, DELETION).await? {
        Some(Ok(_)) => Ok(()),
        Some(Err(error)) => Err(session.broken(error)),
        None => Err(BrokerError::new("a queue could not be deleted")),
    }
}
