use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use regex::RegexSet;
use thermocline_clock::Clock;
use thermocline_policy::{
    Decision, Moment, Observation, Settings, Spec, Tier, TierMap, Transition, View, Window, decide,
};
use tokio::sync::Notify;

use crate::{Capacity, Gate, Tally};

/// What a person asked for, as of one generation. Immutable.
#[derive(Debug)]
pub struct Config {
    /// The specification.
    pub spec: Spec,
    /// Its numbers with the server's defaults filled in.
    pub settings: Settings,
    /// Rises with every change of the specification.
    pub generation: i64,
    /// A person put it to sleep.
    pub stopped: bool,
    /// It is being torn down.
    pub deleting: bool,
    /// The forced tier and until when; `None` = not forced.
    pub forced: Option<(Tier, Moment)>,
    /// Paths that are no traffic.
    pub ignore: RegexSet,
}

/// A window and since when it has been watched.
#[derive(Debug)]
pub struct Watched {
    /// The window.
    pub window: Window,
    /// Since when.
    pub since: Moment,
}

/// What is going on in one tier of a deployment.
#[derive(Debug, Default)]
pub struct TierTraffic {
    in_flight: AtomicU32,
    last_end: AtomicU64,
}

impl TierTraffic {
    pub(crate) fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
    }

    /// Requests that its backends have in hand.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Acquire)
    }

    /// When work last ended there, or an instance became ready.
    pub fn last_end(&self) -> Moment {
        Moment::from_nanos(self.last_end.load(Ordering::Acquire))
    }

    /// The idle clock starts (again) at `now`.
    pub fn touch(&self, now: Moment) {
        self.last_end.fetch_max(now.nanos(), Ordering::AcqRel);
    }
}

/// One deployment as both planes see it: what is asked for, where it stands,
/// and what is going on.
#[derive(Debug)]
pub struct Deployment {
    /// Its name.
    pub name: Arc<str>,
    /// What a person asked for.
    pub config: ArcSwap<Config>,
    /// Where it stands.
    pub capacity: ArcSwap<Capacity>,
    /// What has been counted.
    pub tally: Tally,
    /// How many requests run at a time.
    pub gate: Gate,
    /// What is going on in each tier.
    pub traffic: TierMap<TierTraffic>,
    /// Wakes those who wait for a place on a backend or for capacity to change.
    pub changed: Notify,
    watched: ArcSwap<Watched>,
    waiting: AtomicU32,
    current: AtomicU8,
    last_transition: AtomicU64,
    clock: Clock,
}

/// `current` before any decision.
const NO_TIER: u8 = u8::MAX;
/// `last_transition` before any.
const NO_TRANSITION: u64 = u64::MAX;

impl Deployment {
    /// A deployment that nothing is known of but `config`, watched from now on.
    pub fn new(config: Config, current: Option<Tier>, clock: Clock) -> Self {
        let now = clock.now();
        let window = config.settings.thresholds.window;
        Deployment {
            name: config.spec.name.as_str().into(),
            gate: Gate::new(config.spec.concurrency.limit()),
            watched: ArcSwap::from_pointee(Watched {
                window: Window::new(window, now),
                since: now,
            }),
            capacity: ArcSwap::default(),
            config: ArcSwap::from_pointee(config),
            tally: Tally::default(),
            traffic: TierMap::default(),
            changed: Notify::new(),
            waiting: AtomicU32::new(0),
            current: AtomicU8::new(current.map_or(NO_TIER, |tier| tier as u8)),
            last_transition: AtomicU64::new(NO_TRANSITION),
            clock,
        }
    }

    /// Puts a new configuration in force; counts go on.
    pub fn reconfigure(&self, config: Config) {
        let window = config.settings.thresholds.window;
        if self.watched.load().window.span() != Window::new(window, Moment::ORIGIN).span() {
            let now = self.clock.now();
            self.watched.store(Arc::new(Watched {
                window: Window::new(window, now),
                since: now,
            }));
        }
        self.gate.set_limit(config.spec.concurrency.limit());
        self.config.store(Arc::new(config));
    }

    /// Puts a new capacity in force and wakes those who wait for it.
    pub fn set_capacity(&self, capacity: Capacity) {
        self.capacity.store(Arc::new(capacity));
        self.changed.notify_waiters();
    }

    /// Counts an arrival.
    pub fn record(&self, now: Moment) -> Observation {
        self.watched.load().window.record(now)
    }

    /// Reads the window.
    pub fn observe(&self, now: Moment) -> Observation {
        self.watched.load().window.observe(now)
    }

    /// Whether the window has been watched for its whole length.
    pub fn observed(&self, now: Moment) -> bool {
        let watched = self.watched.load();
        now.since(watched.since) >= watched.window.span()
    }

    /// Everything that a decision at `now` depends on.
    pub fn view(&self, now: Moment) -> View {
        let config = self.config.load();
        let capacity = self.capacity.load();
        let forced = config.forced.filter(|(_, until)| now < *until);
        View {
            tiers: config.spec.tiers.set(),
            forced: forced.map(|(tier, _)| tier),
            current: self.current(),
            local: capacity.local,
            pod: capacity.pod,
            pod_pinned: config.spec.min_instances(Tier::Pod) > 0,
            pod_in_flight: self.traffic[Tier::Pod].in_flight(),
            count: self.observe(now).count,
            observed: self.observed(now),
            since_transition: self.since_transition(now),
            thresholds: config.settings.thresholds,
        }
    }

    /// The policy's answer at `now`; changes nothing.
    pub fn decide(&self, now: Moment) -> Decision {
        decide(&self.view(now))
    }

    /// Makes `decision` the tier in force. The one caller that changes it gets
    /// the transition; a first decision is none.
    pub fn commit(&self, decision: &Decision, now: Moment) -> Option<Transition> {
        let before = self.current.load(Ordering::Acquire);
        if before == decision.tier as u8 {
            return None;
        }
        self.current
            .compare_exchange(
                before,
                decision.tier as u8,
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .ok()?;
        let from = Tier::from_index(before)?;
        self.last_transition.store(now.nanos(), Ordering::Release);
        let transition = Transition {
            from,
            to: decision.tier,
            reason: decision.reason,
        };
        self.tally.transition(&transition);
        Some(transition)
    }

    /// The tier in force.
    pub fn current(&self) -> Option<Tier> {
        Tier::from_index(self.current.load(Ordering::Acquire))
    }

    /// Time since the last transition of this process.
    pub fn since_transition(&self, now: Moment) -> Option<Duration> {
        match self.last_transition.load(Ordering::Acquire) {
            NO_TRANSITION => None,
            at => Some(now.since(Moment::from_nanos(at))),
        }
    }

    /// Requests that backends have in hand, over all tiers.
    pub fn in_flight(&self) -> u32 {
        self.traffic.iter().map(|(_, t)| t.in_flight()).sum()
    }

    /// Requests that wait for a place or for a start.
    pub fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::Acquire)
    }

    /// Counts one that waits until the guard is dropped.
    pub fn wait(self: &Arc<Self>) -> Waiting {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        Waiting(self.clone())
    }

    /// The clock that it is on.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn end_work(&self, tier: Tier) {
        let traffic = &self.traffic[tier];
        // The idle clock first: nobody may see "no work" with an old end.
        traffic.touch(self.clock.now());
        traffic.in_flight.fetch_sub(1, Ordering::AcqRel);
        self.changed.notify_waiters();
    }
}

/// One request that waits; counted until dropped.
#[derive(Debug)]
pub struct Waiting(Arc<Deployment>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}
