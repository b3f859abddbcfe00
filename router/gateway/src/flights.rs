//! Single flight: one start per deployment and tier, shared by who waits.
//!
//! A Flight is a task of its own. Whoever asked first may leave; the start goes
//! on. A failure is remembered for a back-off, so that a broken deployment is
//! not started again by every request.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_policy::{Moment, Tier};
use thermocline_table::{GIVEN_UP, StartFailed, Wish};
use tokio::runtime::Handle;
use tokio::sync::watch;

/// What is started: a deployment as of one generation, in one tier.
pub(crate) type Key = (Arc<str>, i64, Tier);

/// How long a failure is remembered.
#[derive(Debug, Clone, Copy)]
pub struct FlightLimits {
    /// After the first failure.
    pub first_back_off: Duration,
    /// It doubles up to this.
    pub longest_back_off: Duration,
}

impl Default for FlightLimits {
    fn default() -> Self {
        FlightLimits {
            first_back_off: Duration::from_secs(1),
            longest_back_off: Duration::from_secs(30),
        }
    }
}

/// The flights in progress, and the failures remembered.
pub(crate) struct Flights {
    map: Arc<Mutex<HashMap<Key, Entry>>>,
    limits: FlightLimits,
    clock: Clock,
    runtime: Handle,
}

enum Entry {
    Flying {
        outcome: watch::Receiver<Option<Result<(), StartFailed>>>,
        wish: Arc<Wish>,
        failures: u32,
    },
    Failed {
        error: StartFailed,
        until: Moment,
        failures: u32,
    },
}

/// Why a request cannot wait for a flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// As many wait as may.
    Full,
    /// The last start failed and its back-off has not ended.
    BackingOff(StartFailed),
}

/// A place among those who wait; left when dropped.
pub(crate) struct Waiter {
    outcome: watch::Receiver<Option<Result<(), StartFailed>>>,
    /// Whether this one began the flight.
    pub(crate) first: bool,
    wish: Arc<Wish>,
}

impl Waiter {
    /// Leaves a wish that stands whoever waits.
    pub(crate) fn leave_standing(self) {
        self.wish.stand();
    }

    /// Waits for the flight's end.
    pub(crate) async fn landed(mut self) -> Result<(), StartFailed> {
        let landed = self.outcome.wait_for(Option::is_some).await;
        landed
            .ok()
            .and_then(|outcome| outcome.clone())
            .unwrap_or_else(|| Err(interrupted()))
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.wish.leave();
    }
}

fn interrupted() -> StartFailed {
    StartFailed {
        code: "start_failed",
        detail: "the start was interrupted".to_owned(),
        retry_after: Duration::from_secs(1),
    }
}

impl Flights {
    /// No flights; starts run on `runtime`.
    pub(crate) fn new(limits: FlightLimits, clock: Clock, runtime: Handle) -> Self {
        Flights {
            map: Arc::default(),
            limits,
            clock,
            runtime,
        }
    }

    /// Joins the flight of `key`, beginning it if there is none; at most `most` wait.
    pub(crate) fn join<F>(
        &self,
        key: Key,
        most: u32,
        start: impl FnOnce(Arc<Wish>) -> F,
    ) -> Result<Waiter, Refused>
    where
        F: Future<Output = Result<(), StartFailed>> + Send + 'static,
    {
        let mut map = lock(&self.map);
        let failures = match map.get(&key) {
            Some(Entry::Flying { outcome, wish, .. }) => {
                if wish.waiting() >= most {
                    return Err(Refused::Full);
                }
                return Ok(waiter(outcome, wish, false));
            }
            Some(Entry::Failed { error, until, .. }) if *until > self.clock.now() => {
                let mut error = error.clone();
                error.retry_after = self.clock.now().until(*until);
                return Err(Refused::BackingOff(error));
            }
            Some(Entry::Failed { failures, .. }) => *failures,
            None => 0,
        };
        if most == 0 {
            return Err(Refused::Full);
        }
        let (report, outcome) = watch::channel(None);
        let wish = Arc::new(Wish::default());
        let waiter = waiter(&outcome, &wish, true);
        let start = start(wish.clone());
        map.insert(
            key.clone(),
            Entry::Flying {
                outcome,
                wish,
                failures,
            },
        );
        drop(map);
        self.fly(key, start, report);
        Ok(waiter)
    }

    fn fly<F>(&self, key: Key, start: F, report: watch::Sender<Option<Result<(), StartFailed>>>)
    where
        F: Future<Output = Result<(), StartFailed>> + Send + 'static,
    {
        let flights = self.map.clone();
        let (limits, clock) = (self.limits, self.clock.clone());
        let runtime = self.runtime.clone();
        self.runtime.spawn(async move {
            // Its own task, so that even a panic in the start ends the flight.
            let outcome = runtime
                .spawn(start)
                .await
                .unwrap_or_else(|_| Err(interrupted()));
            land(&flights, key, &outcome, limits, clock.now());
            report.send_replace(Some(outcome));
        });
    }

    /// How many wait for any flight of `key`.
    #[cfg(test)]
    fn waiting(&self, key: &Key) -> u32 {
        match lock(&self.map).get(key) {
            Some(Entry::Flying { wish, .. }) => wish.waiting(),
            _ => 0,
        }
    }
}

fn waiter(
    outcome: &watch::Receiver<Option<Result<(), StartFailed>>>,
    wish: &Arc<Wish>,
    first: bool,
) -> Waiter {
    wish.join();
    Waiter {
        outcome: outcome.clone(),
        first,
        wish: wish.clone(),
    }
}

/// The codes of starts that nothing was tried for: a person called it off, nobody
/// waited any more, or a budget refused it, which may be raised at any time. Whoever
/// asks again need not wait.
const UNTRIED: [&str; 3] = ["stopped", "budget", GIVEN_UP];

/// Takes the flight off the map, and remembers its failure.
fn land(
    flights: &Mutex<HashMap<Key, Entry>>,
    key: Key,
    outcome: &Result<(), StartFailed>,
    limits: FlightLimits,
    now: Moment,
) {
    let mut map = lock(flights);
    let failures = match map.remove(&key) {
        Some(Entry::Flying { failures, .. }) => failures,
        _ => 0,
    };
    // Failures of generations that are past, and those long over, go with it.
    map.retain(|_, entry| {
        !matches!(entry, Entry::Failed { until, .. }
        if now.since(*until) > limits.longest_back_off)
    });
    let Err(error) = outcome else {
        return;
    };
    if UNTRIED.contains(&error.code) {
        return;
    }
    let back_off = limits.first_back_off * 2u32.saturating_pow(failures);
    let back_off = back_off.min(limits.longest_back_off).max(error.retry_after);
    map.insert(
        key,
        Entry::Failed {
            error: error.clone(),
            until: now + back_off,
            failures: (failures + 1).min(16),
        },
    );
}

fn lock(map: &Mutex<HashMap<Key, Entry>>) -> MutexGuard<'_, HashMap<Key, Entry>> {
    map.lock().unwrap_or_else(|e| e.into_inner())
}

#[cfg(test)]
mod tests;
