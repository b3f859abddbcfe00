use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use regex::RegexSet;
use thermocline_clock::Clock;
use thermocline_policy::{
    Decision, Moment, Observation, PodState, PolicyMode, Rate, Settings, Spec, Thresholds, Tier,
    TierMap, Transition, View, Window, decide, transition,
};
use tokio::sync::Notify;

use crate::{Capacity, Gate, Tail, Tally, TierTraffic};

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

impl Config {
    fn is_steered(&self) -> bool {
        self.settings.mode != PolicyMode::Thresholds || self.spec.objective.is_some()
    }
}

/// A window and since when it has been watched.
#[derive(Debug)]
pub struct Watched {
    /// The window.
    pub window: Window,
    /// Since when.
    pub since: Moment,
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
    /// Who is told of requests that end.
    pub tail: Tail,
    /// How many requests run at a time.
    pub gate: Gate,
    /// What is going on in each tier.
    pub traffic: TierMap<TierTraffic>,
    /// Wakes those who wait for a place on a backend or for capacity to change.
    pub changed: Notify,
    watched: ArcSwap<Watched>,
    /// The thresholds of a mode that makes them from prices.
    steered: ArcSwapOption<Thresholds>,
    waiting: AtomicU32,
    current: AtomicU8,
    changing: Mutex<()>,
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
            gate: Gate::new(config.spec.limit()),
            watched: ArcSwap::from_pointee(Watched {
                window: Window::new(window, now),
                since: now,
            }),
            capacity: ArcSwap::default(),
            steered: ArcSwapOption::empty(),
            config: ArcSwap::from_pointee(config),
            tally: Tally::default(),
            tail: Tail::default(),
            traffic: TierMap::default(),
            changed: Notify::new(),
            waiting: AtomicU32::new(0),
            current: AtomicU8::new(current.map_or(NO_TIER, |tier| tier as u8)),
            changing: Mutex::new(()),
            last_transition: AtomicU64::new(NO_TRANSITION),
            clock,
        }
    }

    /// Puts a new configuration in force; counts go on.
    pub fn reconfigure(&self, config: Config) {
        let window = self.in_force(&config).window;
        if self.watched.load().window.span() != Window::new(window, Moment::ORIGIN).span() {
            let now = self.clock.now();
            self.watched.store(Arc::new(Watched {
                window: Window::new(window, now),
                since: now,
            }));
        }
        self.gate.set_limit(config.spec.limit());
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

    /// Arrivals a second over what of the window has been watched, 10 s at least:
    /// the rate that costs and objectives go by.
    pub fn rate(&self, now: Moment) -> Rate {
        let watched = self.watched.load();
        watched.window.rate(now, watched.since)
    }

    /// Whether the window has been watched for its whole length.
    pub fn observed(&self, now: Moment) -> bool {
        let watched = self.watched.load();
        now.since(watched.since) >= watched.window.span()
    }

    /// Everything that a decision at `now` depends on.
    pub fn view(&self, now: Moment) -> View {
        self.view_of(self.observe(now), now)
    }

    fn view_of(&self, seen: Observation, now: Moment) -> View {
        let config = self.config.load();
        let capacity = self.capacity.load();
        let forced = config.forced.filter(|(_, until)| now < *until);
        View {
            tiers: config.spec.tiers.set(),
            forced: forced.map(|(tier, _)| tier),
            current: self.current(),
            local: capacity.local,
            pod: self.pod_state(&capacity),
            pod_pinned: config.spec.min_instances(Tier::Pod) > 0,
            pod_in_flight: self.traffic[Tier::Pod].in_flight(),
            count: seen.count,
            observed: self.observed(now),
            since_transition: self.since_transition(now),
            thresholds: self.in_force(&config),
            brakes: capacity.brakes,
        }
    }

    fn pod_state(&self, capacity: &Capacity) -> PodState {
        let nothing_came = |then| self.arrivals() == then;
        match capacity.pod {
            PodState::Absent if capacity.idled.is_some_and(nothing_came) => PodState::Idled,
            state => state,
        }
    }

    fn in_force(&self, config: &Config) -> Thresholds {
        if !config.is_steered() {
            return config.settings.thresholds;
        }
        let steered = self.steered.load();
        let steered = steered.as_deref().copied();
        steered.unwrap_or(config.settings.thresholds)
    }

    /// Whether its thresholds follow from prices or an objective.
    pub fn is_steered(&self) -> bool {
        self.config.load().is_steered()
    }

    /// The thresholds in force.
    pub fn thresholds(&self) -> Thresholds {
        self.in_force(&self.config.load())
    }

    /// Puts thresholds in force that were made from prices; the window is
    /// widened or narrowed to theirs and keeps what it has counted.
    pub fn steer(&self, thresholds: Thresholds) {
        let watched = self.watched.load();
        let seen = watched.window.span();
        let now = self.clock.now();
        if seen != Window::new(thresholds.window, now).span() {
            self.watched.store(Arc::new(Watched {
                window: watched.window.resized(thresholds.window, now),
                since: watched.since.max(now.before(seen)),
            }));
        }
        self.steered.store(Some(Arc::new(thresholds)));
    }

    /// Arrivals counted since it is watched; starts again with a new window.
    pub fn arrivals(&self) -> u64 {
        self.watched.load().window.total()
    }

    /// The policy's answer at `now`; changes nothing.
    pub fn decide(&self, now: Moment) -> Decision {
        decide(&self.view(now))
    }

    /// The policy's answer for an arrival at `now`, with what its record `seen`.
    pub fn decide_on(&self, seen: Observation, now: Moment) -> Decision {
        decide(&self.view_of(seen, now))
    }

    /// Makes `decision` the tier in force. The one caller that changes it gets
    /// what is to be told: the transition, or that a pod stopped idle.
    ///
    /// Whoever decided a moment ago may have seen less than who changed the
    /// tier since, and must not change it back: a change is decided again,
    /// one at a time.
    pub fn commit(&self, decision: &Decision, now: Moment) -> Option<Transition> {
        if self.current() == Some(decision.tier) {
            return None;
        }
        let _one = self.changing.lock().unwrap_or_else(|e| e.into_inner());
        let now = now.max(self.clock.now());
        let view = self.view(now);
        let decision = decide(&view);
        self.current.store(decision.tier as u8, Ordering::Release);
        let transition = transition(&view, &decision)?;
        if !transition.is_idle_stop() {
            self.last_transition.store(now.nanos(), Ordering::Release);
            self.tally.transition(&transition);
        }
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

    pub(crate) fn end_work(&self, tier: Tier, keeps_alive: bool, at: Option<Moment>) {
        let traffic = &self.traffic[tier];
        if keeps_alive {
            // The idle clock first: nobody may see "no work" with an old end.
            traffic.touch(at.unwrap_or_else(|| self.clock.now()));
        }
        traffic.end();
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

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use thermocline_clock::ManualClock;
    use thermocline_policy::{Defaults, FleetOptions, PodTier, ServerlessTier};

    use super::*;

    fn deployment(time: &ManualClock) -> Deployment {
        let mut spec = Spec::named("m");
        let (provider, gpu, host) = ("toy".to_owned(), Vec::new(), None);
        spec.tiers.serverless = Some(ServerlessTier {
            provider: provider.clone(),
            gpu: gpu.clone(),
            max_workers: 1,
            idle_timeout: Duration::from_secs(30),
            queue_delay: Duration::from_secs(4),
            host,
            fleet: FleetOptions::default(),
        });
        spec.tiers.pod = Some(PodTier {
            provider,
            gpu,
            min_instances: 0,
            max_instances: 1,
            idle_timeout: Duration::from_secs(60),
            host,
        });
        let config = Config {
            settings: spec.settings(&Defaults::default()),
            spec,
            generation: 1,
            stopped: false,
            deleting: false,
            forced: None,
            ignore: RegexSet::empty(),
        };
        Deployment::new(config, None, time.clock())
    }

    /// The 60th arrival promotes; the 59th decided just before it and commits
    /// just after.
    #[test]
    fn b01_an_older_decision_takes_no_newer_one_back() {
        let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let (deployment, now) = (deployment(&time), time.now());
        for _ in 0..59 {
            deployment.record(now);
        }
        let older = deployment.decide(now);
        assert_eq!(deployment.commit(&older, now), None, "the first is none");
        let stale = deployment.decide(now);
        deployment.record(now);
        let newer = deployment.decide(now);
        let transition = deployment.commit(&newer, now).expect("a promotion");
        assert_eq!(
            (transition.from, transition.to),
            (Tier::Serverless, Tier::Pod)
        );
        assert_eq!(deployment.commit(&stale, now), None);
        assert_eq!(deployment.current(), Some(Tier::Pod));
    }

    #[test]
    fn what_is_no_traffic_leaves_the_idle_clock_alone() {
        let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let deployment = deployment(&time);
        let traffic = &deployment.traffic[Tier::Pod];
        time.advance(Duration::from_secs(5));
        traffic.begin();
        deployment.end_work(Tier::Pod, false, None);
        assert_eq!(traffic.last_end(), Moment::ORIGIN);
        traffic.begin();
        deployment.end_work(Tier::Pod, true, None);
        assert_eq!((traffic.last_end(), traffic.in_flight()), (time.now(), 0));
    }
}
