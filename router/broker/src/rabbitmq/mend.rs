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

use super::aside::Aside;
use super::declared::{Doubt, is};
use super::look::look;
use super::publisher::{Fate, Letter, fate, send};
use super::session::{Session, table};
use super::topology::millis;
use crate::{BrokerError, Depth};

/// How long a queue may take to answer before it counts as silent.
const TRIAL: Duration = Duration::from_secs(3);

/// How long the server may take to delete a queue; it asks the queue itself for
/// five seconds first.
const DELETION: Duration = Duration::from_secs(20);

/// How long all of it may take, and the lock of who does not give it back stands:
/// longer than a trial, a deletion and the calls between take.
const MENDING: Duration = Duration::from_secs(60);

/// Publishes `letter` to the doubtful queue where it lands; [`Fate::Returned`] once a
/// silent one is no more.
pub(super) async fn publish(
    letter: &Letter,
    aside: &Aside,
    session: &Arc<Session>,
    doubt: Doubt,
) -> Result<Fate, BrokerError> {
    let publishing = |channel: Channel| async move {
        let confirming = ConfirmSelectOptions::default();
        channel.confirm_select(confirming).await?;
        send(letter, &channel).await
    };
    match try_out(&doubt, aside, session, publishing).await? {
        Some(confirmed) => {
            doubt.dispel(session);
            fate(&confirmed)
        }
        None => Ok(Fate::Returned),
    }
}

/// Asks a doubtful queue for a message, which goes back with its channel; whether
/// it is still there, since a silent one is deleted.
pub(super) async fn revive(
    aside: &Aside,
    session: &Arc<Session>,
    doubt: Doubt,
) -> Result<bool, BrokerError> {
    let queue = doubt.queue();
    let asking = |channel: Channel| async move {
        let options = BasicGetOptions::default();
        channel.basic_get(queue.into(), options).await
    };
    let answered = try_out(&doubt, aside, session, asking).await?.is_some();
    if answered {
        doubt.dispel(session);
    }
    Ok(answered)
}

/// What comes of `trial`; `None` where nothing did and the queue is no more. Under
/// its lock one process of the installation does so at a time.
async fn try_out<T, F: Future<Output = lapin::Result<T>>>(
    doubt: &Doubt,
    aside: &Aside,
    session: &Session,
    trial: impl FnOnce(Channel) -> F,
) -> Result<Option<T>, BrokerError> {
    let mending = aside.once(|channel| async move {
        take_lock(&channel, doubt.lock()).await?;
        let tried = Box::pin(answer(doubt.queue(), aside, session, trial)).await;
        // Where that fails, or nobody waits for this any more, the lock runs out.
        let unlocking = QueueDeleteOptions::default();
        let _ = channel.queue_delete(doubt.lock().into(), unlocking).await;
        Ok(tried)
    });
    let mended = session.wait(mending, MENDING).await?;
    match mended.ok_or_else(|| BrokerError::new("a queue could not be mended"))?? {
        Ok(tried) => tried,
        Err(error) if is(&error, &AMQPSoftError::RESOURCELOCKED) => {
            Err(BrokerError::new("a queue is being mended"))
        }
        Err(error) => Err(BrokerError::new("a queue could not be mended").caused_by(error)),
    }
}

/// An exclusive queue is a lock: it belongs to a connection, and goes with it.
async fn take_lock(channel: &Channel, lock: &str) -> lapin::Result<()> {
    let options = QueueDeclareOptions {
        exclusive: true,
        ..QueueDeclareOptions::default()
    };
    let runs_out = AMQPValue::LongLongInt(millis(MENDING));
    let runs_out = table([("x-expires", runs_out)]);
    let locking = channel.queue_declare(lock.into(), options, runs_out);
    locking.await.map(drop)
}

async fn answer<T, F: Future<Output = lapin::Result<T>>>(
    queue: &str,
    aside: &Aside,
    session: &Session,
    trial: impl FnOnce(Channel) -> F,
) -> Result<Option<T>, BrokerError> {
    match session.wait(aside.once(trial), TRIAL).await?.transpose()? {
        Some(Ok(answered)) => return Ok(Some(answered)),
        Some(Err(error)) if is(&error, &AMQPSoftError::NOTFOUND) => return Ok(None),
        Some(Err(error)) => {
            return Err(BrokerError::new("a queue could not be tried").caused_by(error));
        }
        None => {}
    }
    if look(aside, session, queue).await? != Some(Depth::default()) {
        return Err(BrokerError::new("a queue does not answer"));
    }
    tracing::warn!(queue, "a queue that a crash left behind is made anew");
    delete(queue, aside, session).await?;
    Ok(None)
}

async fn delete(queue: &str, aside: &Aside, session: &Session) -> Result<(), BrokerError> {
    let deleting = aside.once(|channel| async move {
        let options = QueueDeleteOptions::default();
        channel.queue_delete(queue.into(), options).await
    });
    match session.wait(deleting, DELETION).await?.transpose()? {
        Some(Ok(_)) => Ok(()),
        Some(Err(error)) => Err(BrokerError::new("a queue could not be deleted").caused_by(error)),
        None => Err(BrokerError::new("a queue could not be deleted")),
    }
}
