use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use futures_util::future::try_join_all;
use lapin::Error;
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use tokio::sync::OwnedMutexGuard;

use super::aside::Aside;
use super::look::look;
use super::names::Names;
use super::session::Session;
use super::standing::{self, Witness};
use super::topology;
use crate::{BrokerError, Limits};

/// The queues that are there. Declaring one again keeps it from expiring, so it
/// is done once in a while for each that is used; one at a time for a queue.
pub(super) struct Declared {
    queues: Mutex<HashMap<String, Known>>,
    aside: Aside,
    names: Names,
    limits: Limits,
    clock: Clock,
}

/// What is known of a queue, under the lock of whoever declares it.
type Known = Arc<tokio::sync::Mutex<Option<Seen>>>;

type Seen = standing::Seen<Weak<Session>>;

/// A session is lost with the broker, and it is the next one that finds it again.
impl Witness for Weak<Session> {
    fn is_gone(&self) -> bool {
        self.upgrade().is_none_or(|session| session.is_lost())
    }
}

/// A queue of which a crash may have left nothing but the name, while nobody
/// else of this process uses it.
pub(super) struct Doubt {
    seen: OwnedMutexGuard<Option<Seen>>,
    queue: String,
    lock: String,
    settling: Duration,
    clock: Clock,
}

impl Doubt {
    pub(super) fn queue(&self) -> &str {
        &self.queue
    }

    /// Whoever mends it holds this among the processes of the installation.
    pub(super) fn lock(&self) -> &str {
        &self.lock
    }

    /// It answers `session` after all.
    pub(super) fn dispel(mut self, session: &Arc<Session>) {
        let (now, witness) = (self.clock.now(), Arc::downgrade(session));
        let seen = self.seen.take();
        *self.seen = seen.map(|seen| seen.answered(now, witness, self.settling));
    }
}

impl Declared {
    pub(super) fn new(aside: Aside, names: Names, limits: Limits, clock: Clock) -> Self {
        Declared {
            queues: Mutex::default(),
            aside,
            names,
            limits,
            clock,
        }
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// Where it is asked what the broker may refuse.
    pub(super) fn aside(&self) -> &Aside {
        &self.aside
    }

    /// Declares what every installation has to a broker that was just connected to.
    pub(super) async fn found(&self, session: &Arc<Session>) -> Result<(), BrokerError> {
        let queues: Vec<String> = self.names.standing().collect();
        let each = queues.iter().map(|queue| self.declare_anew(queue, session));
        try_join_all(each).await.map(drop)
    }

    /// Makes sure that `queue` is there, and stays for half its idle time at least.
    pub(super) async fn ensure(
        &self,
        queue: &str,
        session: &Arc<Session>,
    ) -> Result<(), BrokerError> {
        let mut seen = self.hold(queue).await;
        if !self.is_fresh(seen.as_ref()) {
            self.make(queue, &mut seen, session).await?;
            drop(seen);
            self.forget_idle();
        }
        Ok(())
    }

    /// Whether it is known to be there without asking.
    pub(super) async fn knows(&self, queue: &str) -> bool {
        self.is_fresh(self.seen(queue).await.as_ref())
    }

    /// It turned out not to be there.
    pub(super) fn forget(&self, queue: &str) {
        self.lock().remove(queue);
    }

    /// Waits until `queue` has been there long enough to survive a crash of the broker;
    /// whether what was put into it before does. However many wait, the broker is asked once.
    pub(super) async fn settles(&self, queue: &str) -> bool {
        let Some(seen) = self.seen(queue).await else {
            return false;
        };
        let Some((since, witness)) = seen.infancy() else {
            return seen.is_settled();
        };
        let Some(witness) = witness.upgrade() else {
            return false;
        };
        tokio::select! {
            biased;
            () = witness.lost() => false,
            () = self.clock.sleep_until(since + self.limits.settling) => {
                self.judge(queue, since, &witness).await
            }
        }
    }

    /// Whether the queue that is young since then has settled, by the witness's word.
    async fn judge(&self, queue: &str, since: Moment, witness: &Session) -> bool {
        let Some(mut held) = self.held(queue).await else {
            return false;
        };
        let infancy = held.as_ref().and_then(Seen::infancy);
        let is_it = infancy.is_some_and(|(at, _)| at == since);
        // The broker may have gone without a word.
        if is_it && witness.answers().await {
            *held = held.take().map(Seen::settled);
        }
        held.as_ref().is_some_and(Seen::is_settled)
    }

    /// The queue for oneself, if it is doubtful.
    pub(super) async fn doubt(&self, queue: &str) -> Option<Doubt> {
        let seen = self.held(queue).await?;
        let doubtful = seen.as_ref().is_some_and(Seen::is_doubtful);
        doubtful.then(|| Doubt {
            seen,
            queue: queue.to_owned(),
            lock: self.names.mending(queue),
            settling: self.limits.settling,
            clock: self.clock.clone(),
        })
    }

    /// Declares a queue, whatever was known of it before.
    async fn declare_anew(&self, queue: &str, session: &Arc<Session>) -> Result<(), BrokerError> {
        let mut seen = self.hold(queue).await;
        self.make(queue, &mut seen, session).await
    }

    /// Declares a queue that was `seen` before, unless it is new; one that is there no
    /// longer is new.
    async fn make(
        &self,
        queue: &str,
        seen: &mut Option<Seen>,
        session: &Arc<Session>,
    ) -> Result<(), BrokerError> {
        let found = look(&self.aside, session, queue).await?.is_some();
        let (now, witness) = (self.clock.now(), Arc::downgrade(session));
        *seen = Some(match seen.take() {
            Some(seen) if found => seen,
            None if found => Seen::found(now, witness),
            _ => Seen::missing(now, witness),
        });
        self.declare(queue, session).await?;
        let now = self.clock.now();
        *seen = seen.take().map(|seen| seen.declared(now));
        Ok(())
    }

    async fn declare(&self, queue: &str, session: &Session) -> Result<(), BrokerError> {
        let (names, limits) = (&self.names, &self.limits);
        let declared = self.aside.ask(session, |channel| async move {
            topology::declare_queue(&channel, queue, names, limits).await
        });
        match declared.await? {
            Ok(()) => Ok(()),
            // It is there, made by another version with other arguments.
            Err(error) if is(&error, &AMQPSoftError::PRECONDITIONFAILED) => Ok(()),
            Err(error) => Err(BrokerError::new("a queue could not be made").caused_by(error)),
        }
    }

    async fn seen(&self, queue: &str) -> Option<Seen> {
        self.held(queue).await?.clone()
    }

    /// What is still known of `queue`, for whoever declares it.
    async fn hold(&self, queue: &str) -> OwnedMutexGuard<Option<Seen>> {
        let known = self.lock().entry(queue.to_owned()).or_default().clone();
        locked(known).await
    }

    /// The same, where anybody has declared it.
    async fn held(&self, queue: &str) -> Option<OwnedMutexGuard<Option<Seen>>> {
        let known = self.lock().get(queue).cloned()?;
        Some(locked(known).await)
    }

    /// Whether nothing needs to be done for what was declared then.
    fn is_fresh(&self, seen: Option<&Seen>) -> bool {
        let (now, half) = (self.clock.now(), self.limits.queue_idle / 2);
        seen.is_some_and(|seen| seen.is_fresh(now, half))
    }

    /// Forgets those that have expired; one that somebody declares now stays.
    fn forget_idle(&self) {
        let now = self.clock.now();
        self.lock().retain(|_, known| match known.try_lock() {
            Ok(seen) => !(seen.as_ref()).is_some_and(|it| it.is_idle(now, self.limits.queue_idle)),
            Err(_) => true,
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.queues.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// What is known, less what a loss since then has made untrue.
async fn locked(known: Known) -> OwnedMutexGuard<Option<Seen>> {
    let mut seen = known.lock_owned().await;
    *seen = seen.take().and_then(Seen::still);
    seen
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
