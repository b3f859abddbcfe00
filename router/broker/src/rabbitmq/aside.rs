//! What the broker may refuse is asked on a connection of its own.
//!
//! The broker closes a channel on which it refuses something, and the library
//! lets nobody use the number of such a channel again: opening it fails for as
//! long as the connection lasts. So this connection is renewed before its
//! numbers run out, and on the others nothing is refused.

use std::sync::Arc;
use std::time::Duration;

use lapin::Channel;
use lapin::uri::AMQPUri;
use thermocline_clock::Clock;
use tokio::sync::{Mutex, Semaphore};

use super::session::{PATIENCE, Session};
use crate::BrokerError;

/// Channels that are open at a time: one that asks for more than the broker
/// answers in time is lost.
const AT_A_TIME: usize = 64;
/// Between two connections.
const AGAIN: Duration = Duration::from_millis(100);

/// The connection of what may be refused, one after the other.
pub(super) struct Aside {
    uri: AMQPUri,
    clock: Clock,
    places: Semaphore,
    current: Mutex<Option<Current>>,
}

/// A connection, and how many channels it may still open.
struct Current {
    session: Arc<Session>,
    left: u16,
}

impl Aside {
    /// Connects when it is first asked.
    pub(super) fn new(uri: AMQPUri, clock: Clock) -> Self {
        Aside {
            uri,
            clock,
            places: Semaphore::new(AT_A_TIME),
            current: Mutex::default(),
        }
    }

    /// What `call` gives on a channel of its own, if the broker says so while `session`
    /// lasts. Where this connection breaks it is made again on the next.
    pub(super) async fn ask<T, F: Future<Output = lapin::Result<T>>>(
        &self,
        session: &Session,
        call: impl Fn(Channel) -> F,
    ) -> Result<lapin::Result<T>, BrokerError> {
        let place = tokio::select! {
            () = session.lost() => None,
            place = self.places.acquire() => place.ok(),
        };
        let by = self.clock.now() + PATIENCE;
        while place.is_some() {
            let tried = self.once(&call);
            let tried = session.wait(tried, self.clock.now().until(by)).await?;
            match tried.ok_or_else(|| BrokerError::new("no answer"))? {
                Ok(answer) => return Ok(answer),
                Err(error) if self.clock.now() + AGAIN >= by => return Err(error),
                Err(_) => self.clock.sleep(AGAIN).await,
            }
        }
        Err(BrokerError::new("the connection was lost"))
    }

    /// The same, made once, for as long as its caller waits.
    pub(super) async fn once<T, F: Future<Output = lapin::Result<T>>>(
        &self,
        call: impl FnOnce(Channel) -> F,
    ) -> Result<lapin::Result<T>, BrokerError> {
        let session = self.session().await?;
        let channel = session.ask(session.own_channel()).await?;
        let answer = tokio::select! {
            () = session.lost() => return Err(BrokerError::new("the connection was lost")),
            answer = call(channel) => answer,
        };
        match answer {
            Err(error) if !error.is_amqp_soft_error() => Err(session.broken(error)),
            answer => Ok(answer),
        }
    }

    /// The connection in force, for one more channel.
    async fn session(&self) -> Result<Arc<Session>, BrokerError> {
        let mut current = self.current.lock().await;
        let usable = |it: &&mut Current| it.left > 0 && !it.session.is_lost();
        if let Some(it) = current.as_mut().filter(usable) {
            it.left -= 1;
            return Ok(it.session.clone());
        }
        // A large future, for one that is part of so many others.
        let opening = Box::pin(Session::open(&self.uri, &self.clock));
        let session = Arc::new(opening.await?);
        *current = Some(Current {
            left: session.channels().saturating_sub(1),
            session: session.clone(),
        });
        Ok(session)
    }
}
