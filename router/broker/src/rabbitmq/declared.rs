use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::future::try_join_all;
use lapin::Error;
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use tokio::sync::OwnedMutexGuard;

use super::look::look;
use super::names::Names;
use super::session::Session;
use super::topology;
use crate::{BrokerError, Limits};

/// The queues that are there. Declaring one again keeps it from expiring, so it
/// is done once in a while for each that is used; one at a time for a queue.
pub(super) struct Declared {
    queues: Mutex<HashMap<String, Known>>,
    names: Names,
    limits: Limits,
    clock: Clock,
}

/// What is known of a queue, under the lock of whoever declares it.
type Known = Arc<tokio::sync::Mutex<Option<Seen>>>;

#[derive(Clone, Copy)]
struct Seen {
    /// When it was last declared.
    at: Moment,
    /// When it was first seen.
    since: Moment,
    standing: Standing,
}

/// How far what is in a queue can be relied on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// A crash of the broker may take it along.
    Young {
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
pub(super) struct Doubt {
    seen: OwnedMutexGuard<Option<Seen>>,
    queue: String,
    lock: String,
}

impl Doubt {
    pub(super) fn queue(&self) -> &str {
        &self.queue
    }

    /// Whoever mends it holds this among the processes of the installation.
    pub(super) fn lock(&self) -> &str {
        &self.lock
    }

    /// It takes messages after all.
    pub(super) fn dispel(mut self) {
        if let Some(seen) = self.seen.as_mut() {
            seen.standing = Standing::Settled;
        }
    }
}

impl Declared {
    pub(super) fn new(names: Names, limits: Limits, clock: Clock) -> Self {
        Declared {
            queues: Mutex::default(),
            names,
            limits,
            clock,
        }
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// Declares what every installation has to a broker that was just connected to.
    pub(super) async fn found(&self, session: &Session) -> Result<(), BrokerError> {
        let queues: Vec<String> = self.names.standing().collect();
        let each = queues.iter().map(|queue| self.declare_anew(queue, session));
        try_join_all(each).await.map(drop)
    }

    /// Makes sure that `queue` is there, and stays for half its idle time at least.
    pub(super) async fn ensure(&self, queue: &str, session: &Session) -> Result<(), BrokerError> {
        let known = self.known(queue);
        let mut seen = known.lock().await;
        if !seen.is_some_and(|seen| self.is_fresh(seen)) {
            *seen = Some(self.make(queue, *seen, session).await?);
            drop(seen);
            self.forget_idle();
        }
        Ok(())
    }

    /// Whether it is known to be there without asking.
    pub(super) async fn knows(&self, queue: &str) -> bool {
        let seen = self.seen(queue).await;
        seen.is_some_and(|seen| self.is_fresh(seen))
    }

    /// It turned out not to be there.
    pub(super) fn forget(&self, queue: &str) {
        self.lock().remove(queue);
    }

    /// Waits until `queue` has been there long enough to survive a crash of the broker;
    /// whether what `session` put into it does. However many wait, the broker is asked once.
    pub(super) async fn settles(&self, queue: &str, session: &Session) -> bool {
        let Some(first) = self.seen(queue).await else {
            return false;
        };
        match first.standing {
            Standing::Settled => return true,
            Standing::Doubtful => return false,
            Standing::Young { .. } => {}
        }
        tokio::select! {
            biased;
            () = session.lost() => {}
            () = self.clock.sleep_until(first.since + self.limits.settling) => {}
        }
        self.judge(queue, first.since, session).await
    }

    /// Decides what a queue is that was young at first; whether it is the same and settled.
    async fn judge(&self, queue: &str, since: Moment, session: &Session) -> bool {
        let Some(known) = self.lock().get(queue).cloned() else {
            return false;
        };
        let mut known = known.lock().await;
        let Some(seen) = known.as_mut().filter(|seen| seen.since == since) else {
            return false;
        };
        if let Standing::Young { ours } = seen.standing {
            // The broker may have gone without a word.
            let lasted = !session.is_lost() && session.side_channel().await.is_ok();
            match (lasted, ours) {
                (true, _) => seen.standing = Standing::Settled,
                (false, true) => seen.standing = Standing::Doubtful,
                (false, false) => {}
            }
        }
        seen.standing == Standing::Settled
    }

    /// The queue for oneself, if it is doubtful.
    pub(super) async fn doubt(&self, queue: &str) -> Option<Doubt> {
        let known = self.lock().get(queue).cloned()?;
        let seen = known.lock_owned().await;
        let doubtful = seen.is_some_and(|seen| seen.standing == Standing::Doubtful);
        doubtful.then(|| Doubt {
            seen,
            queue: queue.to_owned(),
            lock: self.names.mending(queue),
        })
    }

    /// Declares a queue, whatever was known of it before.
    async fn declare_anew(&self, queue: &str, session: &Session) -> Result<(), BrokerError> {
        let known = self.known(queue);
        let mut seen = known.lock().await;
        *seen = Some(self.make(queue, *seen, session).await?);
        Ok(())
    }

    /// Declares a queue that was `seen` before, unless it is new; one that is there no
    /// longer is new.
    async fn make(
        &self,
        queue: &str,
        seen: Option<Seen>,
        session: &Session,
    ) -> Result<Seen, BrokerError> {
        let found = look(session, queue).await?.is_some();
        self.declare(queue, session).await?;
        let at = self.clock.now();
        Ok(match seen.filter(|_| found) {
            Some(seen) => Seen { at, ..seen },
            None => Seen {
                at,
                since: at,
                standing: Standing::Young { ours: !found },
            },
        })
    }

    async fn declare(&self, queue: &str, session: &Session) -> Result<(), BrokerError> {
        let channel = session.side_channel().await?;
        let declaring = topology::declare_queue(&channel, queue, &self.names, &self.limits);
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

    /// Whether nothing needs to be done for what was declared then.
    fn is_fresh(&self, seen: Seen) -> bool {
        self.clock.now().since(seen.at) < self.limits.queue_idle / 2
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
