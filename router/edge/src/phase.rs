use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use thermocline_clock::Clock;
use thermocline_policy::Moment;

/// Where a connection is between its requests; shared with its service.
#[derive(Clone, Debug)]
pub(crate) struct Phase(Arc<State>);

#[derive(Debug)]
struct State {
    /// Odd within a request, even between two: the number also tells that one
    /// has come and gone between two looks.
    turn: AtomicU32,
    /// When the last request ended, nanoseconds from the clock's origin.
    rests_since: AtomicU64,
    clock: Clock,
}

impl Phase {
    /// A connection before its first request; or one that is for ever `serving`.
    pub(crate) fn new(serving: bool, clock: &Clock) -> Self {
        Phase(Arc::new(State {
            turn: AtomicU32::new(serving.into()),
            rests_since: AtomicU64::new(clock.now().nanos()),
            clock: clock.clone(),
        }))
    }

    pub(crate) fn turn(&self) -> u32 {
        self.0.turn.load(Ordering::Relaxed)
    }

    pub(crate) fn serving(&self) -> bool {
        self.turn() % 2 == 1
    }

    /// When the last request ended.
    pub(crate) fn rests_since(&self) -> Moment {
        Moment::from_nanos(self.0.rests_since.load(Ordering::Relaxed))
    }

    fn next(&self) {
        self.0.turn.fetch_add(1, Ordering::Relaxed);
    }
}

/// Says "within a request" until dropped.
pub(crate) struct Serving(Option<Phase>);

impl Serving {
    pub(crate) fn begin(phase: Phase) -> Self {
        phase.next();
        Serving(Some(phase))
    }

    /// The connection has switched protocols: no request follows.
    pub(crate) fn for_good(mut self) {
        self.0 = None;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(phase) = &self.0 {
            let now = phase.0.clock.now().nanos();
            phase.0.rests_since.store(now, Ordering::Relaxed);
            phase.next();
        }
    }
}
