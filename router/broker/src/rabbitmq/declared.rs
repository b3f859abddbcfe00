use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use lapin::Error;
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use thermocline_clock::Clock;
use thermocline_policy::Moment;

use super::session::Session;
use super::topology;
use crate::{BrokerError, Limits};

/// The queues that are there. Declaring one again keeps it from expiring, so it
/// is done once in a while for each that is used; one at a time for a queue.
pub(super) struct Declared {
    queues: Mutex<HashMap<String, Known>>,
    dead: String,
    limits: Limits,
    clock: Clock,
}

/// When a queue was last declared, under the lock of whoever declares it.
type Known = Arc<tokio::sync::Mutex<Option<Moment>>>;

impl Declared {
    pub(super) fn new(dead: String, limits: Limits, clock: Clock) -> Self {
        Declared {
            queues: Mutex::default(),
            dead,
            limits,
            clock,
        }
    }

    /// Makes sure that `queue` is there, and stays for half its idle time at least.
    pub(super) async fn ensure(&self, queue: &str, session: &Session) -> Result<(), BrokerError> {
        let known = self.known(queue);
        let mut declared = known.lock().await;
        let now = self.clock.now();
        if declared.is_some_and(|at| now.since(at) < self.fresh()) {
            return Ok(());
        }
        self.declare(queue, session).await?;
        *declared = Some(now);
        drop(declared);
        self.forget_idle();
        Ok(())
    }

    /// Whether it is known to be there without asking.
    pub(super) async fn knows(&self, queue: &str) -> bool {
        let known = self.lock().get(queue).cloned();
        match known {
            Some(known) => {
                let declared = *known.lock().await;
                declared.is_some_and(|at| self.clock.now().since(at) < self.fresh())
            }
            None => false,
        }
    }

    /// It turned out not to be there.
    pub(super) fn forget(&self, queue: &str) {
        self.lock().remove(queue);
    }

    async fn declare(&self, queue: &str, session: &Session) -> Result<(), BrokerError> {
        let channel = session.ask(session.side_channel()).await?;
        let declaring = topology::declare_queue(&channel, queue, &self.dead, &self.limits);
        match session.try_ask(declaring).await? {
            Ok(()) => Ok(()),
            // It is there, made by another version with other arguments.
            Err(error) if is(&error, &AMQPSoftError::PRECONDITIONFAILED) => Ok(()),
            Err(error) => Err(BrokerError::new("a queue could not be made").caused_by(error)),
        }
    }

    /// For how long after a declaration nothing needs to be done.
    fn fresh(&self) -> Duration {
        self.limits.queue_idle / 2
    }

    fn known(&self, queue: &str) -> Known {
        let mut queues = self.lock();
        match queues.get(queue) {
            Some(known) => known.clone(),
            None => queues.entry(queue.to_owned()).or_default().clone(),
        }
    }

    /// Forgets those that have expired; one that somebody declares now stays.
    fn forget_idle(&self) {
        let now = self.clock.now();
        self.lock().retain(|_, known| match known.try_lock() {
            Ok(declared) => declared.is_none_or(|at| now.since(at) < self.limits.queue_idle),
            Err(_) => true,
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.queues.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Whether the broker answered with this error.
pub(super) fn is(error: &Error, wanted: &AMQPSoftError) -> bool {
    match error.kind() {
        lapin::ErrorKind::ProtocolError(error) => {
            matches!(error.kind(), AMQPErrorKind::Soft(soft) if soft == wanted)
        }
        _ => false,
    }
}
