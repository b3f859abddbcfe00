//! The workers of one endpoint: they come when there is work and go when they
//! have had none for a while.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_policy::Moment;
use tokio::sync::Notify;

use crate::service::Service;

/// The bounds of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) idle: Duration,
    /// Requests that one worker takes at a time.
    pub(crate) each: u32,
}

/// The workers that there are.
pub(crate) struct Fleet {
    clock: Clock,
    state: Mutex<Workers>,
    moved: Notify,
}

#[derive(Debug, Clone, Copy)]
struct Workers {
    bounds: Bounds,
    up: u32,
    booting: u32,
    /// Requests that have no place yet.
    waiting: u32,
    busy: u32,
    /// Since when nothing has been in hand.
    idle_since: Moment,
    /// Until when the worker seconds are counted, and how many they were.
    counted: Moment,
    seconds: f64,
}

/// A place on a worker; free again when dropped.
pub(crate) struct Place(Arc<Fleet>);

impl Fleet {
    pub(crate) fn new(clock: Clock, bounds: Bounds) -> Arc<Self> {
        let now = clock.now();
        let workers = Workers {
            bounds,
            up: 0,
            booting: 0,
            waiting: 0,
            busy: 0,
            idle_since: now,
            counted: now,
            seconds: 0.0,
        };
        Arc::new(Fleet {
            clock,
            state: Mutex::new(workers),
            moved: Notify::new(),
        })
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.current().bounds
    }

    pub(crate) fn set_bounds(&self, bounds: Bounds) {
        self.current().bounds = bounds;
        self.moved.notify_waiters();
    }

    /// Workers that are up, and how many of them have work in hand.
    pub(crate) fn count(&self) -> (u32, u32) {
        let workers = self.current();
        (
            workers.up,
            workers.busy.div_ceil(workers.bounds.each).min(workers.up),
        )
    }

    pub(crate) fn booting(&self) -> u32 {
        self.current().booting
    }

    /// Seconds that workers have been up.
    pub(crate) fn seconds(&self) -> f64 {
        self.current().seconds
    }

    /// A place on a worker, which is started where none is free.
    pub(crate) async fn acquire(self: &Arc<Self>, service: &Service) -> Place {
        let _waits = Waiting::new(self);
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            match self.enter() {
                Entry::Placed => return Place(self.clone()),
                Entry::Boots => self.boot(service).await,
                Entry::Full => moved.await,
            }
        }
    }

    /// Takes a free place, or begins to start a worker where that is of use.
    fn enter(&self) -> Entry {
        let mut workers = self.current();
        if workers.busy < workers.up * workers.bounds.each {
            workers.busy += 1;
            return Entry::Placed;
        }
        let of_use = workers.waiting > workers.booting * workers.bounds.each;
        if of_use && workers.up + workers.booting < workers.bounds.max {
            workers.booting += 1;
            return Entry::Boots;
        }
        Entry::Full
    }

    /// Starts a worker; it waits as long as a fault says that none can.
    async fn boot(&self, service: &Service) {
        let _counted = Booting(self);
        loop {
            let healed = service.changed.notified();
            tokio::pin!(healed);
            healed.as_mut().enable();
            let faults = service.faults();
            if !faults.throttled && !faults.unhealthy && !faults.never_ready {
                break;
            }
            healed.await;
        }
        self.clock.sleep(service.settings.cold_start).await;
        let mut workers = self.current();
        workers.up += 1;
        // It has not been idle before it was there.
        workers.idle_since = self.clock.now();
    }

    /// The workers as they are now: those without work for long enough have gone.
    fn current(&self) -> MutexGuard<'_, Workers> {
        let now = self.clock.now();
        let mut workers = self
            .state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let least = workers.bounds.min.min(workers.bounds.max);
        let leave = workers.idle_since + workers.bounds.idle;
        if workers.busy == 0 && workers.up > least && now >= leave {
            let until = if leave > workers.counted {
                leave
            } else {
                workers.counted
            };
            workers.count(until);
            workers.up = least;
        }
        workers.count(now);
        workers
    }
}

impl Workers {
    fn count(&mut self, until: Moment) {
        self.seconds += f64::from(self.up) * until.since(self.counted).as_secs_f64();
        self.counted = until;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut workers = self.0.current();
        workers.busy -= 1;
        if workers.busy == 0 {
            workers.idle_since = self.0.clock.now();
        }
        drop(workers);
        self.0.moved.notify_waiters();
    }
}

enum Entry {
    Placed,
    Boots,
    Full,
}

/// A request without a place.
struct Waiting<'f>(&'f Fleet);

impl<'f> Waiting<'f> {
    fn new(fleet: &'f Fleet) -> Self {
        fleet.current().waiting += 1;
        Waiting(fleet)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.current().waiting -= 1;
    }
}

/// A worker on its way up, as long as whoever starts it waits.
struct Booting<'f>(&'f Fleet);

impl Drop for Booting<'_> {
    fn drop(&mut self) {
        self.0.current().booting -= 1;
        self.0.moved.notify_waiters();
    }
}
