use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use lapin::Error;
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use tokio::sync::OwnedMutexGuard;

use super::look::look;
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

/// What is known of a queue, under the lock of whoever declares it.
type Known = Arc<tokio::sync::Mutex<Option<Seen>>>;

#[derive(Clone, Copy)]
struct Seen {
    /// When it was last declared.
    at: Moment,
    standing: Standing,
}

/// How far what is in a queue can be relied on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// A crash of the broker may take it along.
    Young {
        /// When it was first seen.
        since: Moment,
        /// Whether it was not there before we made it.
        ours: bool,
    },
    /// It is kept as well as anything is.
    Settled,
    /// Ours, and the broker was lost while it was young.
    Doubtful,
}

/// A queue of which a crash may have left nothing but the name, while nobody
/// else of this process uses it.
pub(super) struct Doubt(OwnedMutexGuard<Option<Seen>>);

impl Doubt {
    /// It takes messages after all.
    pub(super) fn dispel(mut self) {
        if let Some(seen) = self.0.as_mut() {
            seen.standing = Standing::Settled;
        }
    }
}

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
        let mut seen = known.lock().await;
        let at = self.clock.now();
        if seen.is_some_and(|seen| at.since(seen.at) < self.fresh()) {
            return Ok(());
        }
        let standing = match *seen {
            Some(seen) => {
                self.declare(queue, session).await?;
                seen.standing
            }
            None => self.make(queue, session).await?,
        };
        *seen = Some(Seen { at, standing });
        drop(seen);
        self.forget_idle();
        Ok(())
    }

    /// Whether it is known to be there without asking.
    pub(super) async fn knows(&self, queue: &str) -> bool {
        let seen = self.seen(queue).await;
        seen.is_some_and(|seen| self.clock.now().since(seen.at) < self.fresh())
    }

    /// It turned out not to be there.
    pub(super) fn forget(&self, queue: &str) {
        self.lock().remove(queue);
    }

    /// Waits until `queue` has been there long enough to survive a crash of the
    /// broker; whether it has, when `session` may have been lost meanwhile.
    pub(super) async fn settles(&self, queue: &str, session: &Session) -> bool {
        let (since, ours) = match self.seen(queue).await.map(|seen| seen.standing) {
            Some(Standing::Young { since, ours }) => (since, ours),
            standing => return standing != Some(Standing::Doubtful),
        };
        let settles = self.clock.sleep_until(since + self.limits.settling);
        let lasted = tokio::select! {
            biased;
            () = session.lost() => false,
            // The broker may have gone without a word.
            () = settles => session.ask(session.side_channel()).await.is_ok(),
        };
        match (lasted, ours) {
            (true, _) => self.stands(queue, Standing::Settled).await,
            (false, true) => self.stands(queue, Standing::Doubtful).await,
            (false, false) => {}
        }
        lasted
    }

    /// The queue for oneself, if it is doubtful.
    pub(super) async fn doubt(&self, queue: &str) -> Option<Doubt> {
        let known = self.lock().get(queue).cloned()?;
        let seen = known.lock_owned().await;
        let doubtful = seen.is_some_and(|seen| seen.standing == Standing::Doubtful);
        doubtful.then(|| Doubt(seen))
    }

    /// Declares a queue of which nothing is known.
    async fn make(&self, queue: &str, session: &Session) -> Result<Standing, BrokerError> {
        let ours = look(session, queue).await?.is_none();
        self.declare(queue, session).await?;
        let since = self.clock.now();
        Ok(Standing::Young { since, ours })
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

    async fn seen(&self, queue: &str) -> Option<Seen> {
        let known = self.lock().get(queue).cloned()?;
        *known.lock().await
    }

    /// A young queue stands otherwise from now on.
    async fn stands(&self, queue: &str, standing: Standing) {
        let known = self.lock().get(queue).cloned();
        if let Some(known) = known
            && let Some(seen) = known.lock().await.as_mut()
            && matches!(seen.standing, Standing::Young { .. })
        {
            seen.standing = standing;
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
            Ok(seen) => seen.is_none_or(|seen| now.since(seen.at) < self.limits.queue_idle),
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
