use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use thermocline_policy::{Reason, Tier, TierMap, Transition};

use crate::{Found, Sketch};

/// How a request's backend was had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// It was ready.
    Warm,
    /// It was being started for somebody else.
    Joined,
    /// It was started for this request.
    Cold,
    /// Another tier served meanwhile.
    Fallback,
}

impl Start {
    /// Every way.
    pub const ALL: [Start; 4] = [Start::Warm, Start::Joined, Start::Cold, Start::Fallback];

    /// The word used in headers and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Start::Warm => "warm",
            Start::Joined => "joined",
            Start::Cold => "cold",
            Start::Fallback => "fallback",
        }
    }
}

/// How a request ended, by whose doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Answered whole.
    Ok,
    /// The backend answered 5xx.
    BackendError,
    /// The backend broke before its response's head.
    BackendBroke,
    /// The backend broke within its response.
    UpstreamAborted,
    /// The deadline passed.
    Timeout,
    /// Refused: full.
    Full,
    /// Nothing to serve it.
    Unavailable,
    /// The client left.
    ClientLeft,
    /// The client's request cannot be served as it is.
    ClientError,
    /// An operator cancelled it.
    Cancelled,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 10] = [
        Outcome::Ok,
        Outcome::BackendError,
        Outcome::BackendBroke,
        Outcome::UpstreamAborted,
        Outcome::Timeout,
        Outcome::Full,
        Outcome::Unavailable,
        Outcome::ClientLeft,
        Outcome::ClientError,
        Outcome::Cancelled,
    ];

    /// The word used in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::BackendError => "backend_error",
            Outcome::BackendBroke => "backend_broke",
            Outcome::UpstreamAborted => "upstream_aborted",
            Outcome::Timeout => "timeout",
            Outcome::Full => "full",
            Outcome::Unavailable => "unavailable",
            Outcome::ClientLeft => "client_left",
            Outcome::ClientError => "client_error",
            Outcome::Cancelled => "cancelled",
        }
    }
}

const STARTS: usize = Start::ALL.len();
const OUTCOMES: usize = Outcome::ALL.len();

/// How often each kind of transition happened, by the reason's word for order.
type Transitions = BTreeMap<(Tier, Tier, &'static str), (Reason, u64)>;

/// What has been counted of one deployment. It goes with the deployment, so no
/// label outlives it and none comes from a client.
#[derive(Debug, Default)]
pub struct Tally {
    requests: TierMap<[[AtomicU64; OUTCOMES]; STARTS]>,
    /// Rare enough for a lock.
    transitions: Mutex<Transitions>,
    cold_starts: TierMap<[AtomicU64; 2]>,
    disconnects: AtomicU64,
    /// How long backends had requests in hand, by tier; those of serverless that
    /// may have waited for a worker are left out.
    pub service: TierMap<Sketch>,
    /// From the wish for an instance until it was ready, by tier, whoever waited for it.
    pub starts: TierMap<Sketch>,
    /// The same of requests that found serverless asleep: cold start and service.
    pub woken: Sketch,
    /// From arrival to the last byte.
    pub duration: Histogram,
    /// From arrival until something was sent to a backend.
    pub queue: Histogram,
    /// From there to the last byte.
    pub inference: Histogram,
    /// From the wish for a backend until it takes work.
    pub cold_start: Histogram,
}

impl Tally {
    /// Counts a request.
    pub fn request(&self, tier: Tier, start: Start, outcome: Outcome) {
        self.requests[tier][start as usize][outcome as usize].fetch_add(1, Ordering::Relaxed);
        if outcome == Outcome::ClientLeft {
            self.disconnects.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a change of tier.
    pub fn transition(&self, transition: &Transition) {
        let Transition { from, to, reason } = *transition;
        let mut transitions = self.transitions.lock().unwrap_or_else(|e| e.into_inner());
        transitions
            .entry((from, to, reason.as_str()))
            .or_insert((reason, 0))
            .1 += 1;
    }

    /// Counts how long a backend had a request in hand that it answered whole.
    pub fn served(&self, tier: Tier, found: Found, took: Duration) {
        match found {
            Found::Awake => self.service[tier].record(took),
            Found::Asleep => self.woken.record(took),
            // It may have waited for what is left of a cold start, however much that is.
            Found::Waking => {}
        }
    }

    /// Counts a start that requests waited for and that took `took`.
    pub fn started(&self, tier: Tier, ok: bool, took: Duration) {
        self.cold_starts[tier][usize::from(ok)].fetch_add(1, Ordering::Relaxed);
        if ok {
            self.cold_start.observe(took);
        }
    }

    /// Clients that left.
    pub fn disconnects(&self) -> u64 {
        self.disconnects.load(Ordering::Relaxed)
    }

    /// Every count of requests above zero.
    pub fn requests(&self) -> impl Iterator<Item = (Tier, Start, Outcome, u64)> {
        self.requests.iter().flat_map(|(tier, starts)| {
            Start::ALL.into_iter().flat_map(move |start| {
                Outcome::ALL.into_iter().filter_map(move |outcome| {
                    let n = starts[start as usize][outcome as usize].load(Ordering::Relaxed);
                    (n > 0).then_some((tier, start, outcome, n))
                })
            })
        })
    }

    /// Every kind of transition that happened, and how often.
    pub fn transitions(&self) -> Vec<(Tier, Tier, Reason, u64)> {
        let transitions = self.transitions.lock().unwrap_or_else(|e| e.into_inner());
        let kinds = transitions.iter();
        kinds
            .map(|((from, to, _), (reason, n))| (*from, *to, *reason, *n))
            .collect()
    }

    /// Every count of starts above zero: tier, whether it succeeded, how many.
    pub fn cold_starts(&self) -> impl Iterator<Item = (Tier, bool, u64)> {
        self.cold_starts.iter().flat_map(|(tier, counts)| {
            [false, true].into_iter().filter_map(move |ok| {
                let n = counts[usize::from(ok)].load(Ordering::Relaxed);
                (n > 0).then_some((tier, ok, n))
            })
        })
    }
}

/// Durations counted in buckets, without a lock.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; Histogram::BOUNDS.len() + 1],
    sum_micros: AtomicU64,
}

impl Histogram {
    /// Upper bounds of the buckets, seconds; one more bucket has none.
    pub const BOUNDS: [f64; 14] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0,
    ];

    /// Counts one.
    pub fn observe(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = Self::BOUNDS.iter().position(|bound| seconds <= *bound);
        self.buckets[bucket.unwrap_or(Self::BOUNDS.len())].fetch_add(1, Ordering::Relaxed);
        self.sum_micros
            .fetch_add(duration.as_micros() as u64, Ordering::Relaxed);
    }

    /// How many fell into each bucket.
    pub fn counts(&self) -> [u64; Histogram::BOUNDS.len() + 1] {
        std::array::from_fn(|i| self.buckets[i].load(Ordering::Relaxed))
    }

    /// The sum of all, seconds.
    pub fn sum(&self) -> f64 {
        self.sum_micros.load(Ordering::Relaxed) as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cold_start_is_no_service_time() {
        let (tally, tier) = (Tally::default(), Tier::Serverless);
        let seconds = Duration::from_secs;
        let counts = || {
            (
                tally.service[tier].measured().count,
                tally.woken.measured().count,
            )
        };
        // However short it is: nobody knows yet what is usual.
        tally.served(tier, Found::Asleep, seconds(1));
        tally.served(tier, Found::Waking, seconds(20));
        assert_eq!(counts(), (0, 1));
        tally.served(tier, Found::Awake, seconds(10));
        tally.served(tier, Found::Asleep, seconds(11));
        assert_eq!(counts(), (1, 2));
    }
}
