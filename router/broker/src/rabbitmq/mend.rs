//! A queue of which a crash of the broker has left nothing but the name.
//!
//! RabbitMQ writes down a moment after a quorum queue is made where its log
//! is. A server that is alone and crashes before that finds the name again and
//! begins a log that never gets a leader: the queue is there, takes nothing and
//! gives nothing, until it is deleted. That is done here, where it harms nobody:
//! we made the queue, nothing that was in it was called published yet, it seems
//! empty, and it does not take a message, or answer who asks for one.

use std::sync::Arc;
use std::time::Duration;

use lapin::Channel;
use lapin::options::{
    BasicGetOptions, ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::protocol::AMQPSoftError;
use lapin::types::AMQPValue;

use super::declared::{Doubt, is};
use super::look::look;
use super::publisher::{Fate, Letter, fate, send};
use super::session::{Session, table};
use crate::{BrokerError, Depth};

/// How long a queue may take to answer before it counts as silent.
const TRIAL: Duration = Duration::from_secs(3);

/// How long the server may take to delete a queue; it asks the queue itself for
/// five seconds first.
const DELETION: Duration = Duration::from_secs(20);

/// How long the lock of who does not give it back stands, in milliseconds: longer
/// than a trial, a deletion and the calls between take.
const LOCK_MS: i64 = 60_000;

/// Publishes `letter` to the doubtful queue where it lands; [`Fate::Returned`] once a
/// silent one is no more.
pub(super) async fn publish(
    letter: &Letter,
    session: &Arc<Session>,
    doubt: Doubt,
) -> Result<Fate, BrokerError> {
    let channel = session.ask(session.own_channel()).await?;
    let publishing = async {
        let confirming = ConfirmSelectOptions::default();
        channel.confirm_select(confirming).await?;
        send(letter, &channel).await
    };
    match try_out(&doubt, session, publishing).await? {
        Some(confirmed) => {
            doubt.dispel(session);
            fate(&confirmed)
        }
        None => Ok(Fate::Returned),
    }
}

/// Asks a doubtful queue for a message, which goes back with its channel; whether
/// it is still there, since a silent one is deleted.
pub(super) async fn revive(session: &Arc<Session>, doubt: Doubt) -> Result<bool, BrokerError> {
    let channel = session.ask(session.own_channel()).await?;
    let asking = channel.basic_get(doubt.queue().into(), BasicGetOptions::default());
    let answered = try_out(&doubt, session, asking).await?.is_some();
    if answered {
        doubt.dispel(session);
    }
    Ok(answered)
}

/// What comes of `trial`; `None` where nothing did and the queue was deleted. Under
/// its lock one process of the installation does so at a time.
async fn try_out<T>(
    doubt: &Doubt,
    session: &Session,
    trial: impl Future<Output = lapin::Result<T>>,
) -> Result<Option<T>, BrokerError> {
    let channel = session.ask(session.own_channel()).await?;
    take_lock(&channel, session, doubt.lock()).await?;
    let tried = answer(doubt.queue(), session, trial).await;
    let unlocking = channel.queue_delete(doubt.lock().into(), QueueDeleteOptions::default());
    // Where that fails the session is lost, and the lock with it; where nobody waits
    // for this any more, the lock runs out.
    let _ = session.ask(unlocking).await;
    tried
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

async fn answer<T>(
    queue: &str,
    session: &Session,
    trial: impl Future<Output = lapin::Result<T>>,
) -> Result<Option<T>, BrokerError> {
    if let Some(answered) = session.wait(trial, TRIAL).await? {
        return answered.map(Some).map_err(|error| session.broken(error));
    }
    if look(session, queue).await? != Some(Depth::default()) {
        return Err(BrokerError::new("a queue does not answer"));
    }
    tracing::warn!(queue, "a queue that a crash left behind is made anew");
    delete(queue, session).await?;
    Ok(None)
}

async fn delete(queue: &str, session: &Session) -> Result<(), BrokerError> {
    let channel = session.side_channel().await?;
    let deleting = channel.queue_delete(queue.into(), QueueDeleteOptions::default());
    match session.wait(deleting, DELETION).await? {
        Some(Ok(_)) => Ok(()),
        Some(Err(error)) => Err(session.broken(error)),
        None => Err(BrokerError::new("a queue could not be deleted")),
    }
}
