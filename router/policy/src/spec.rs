//! What a user asks for: the deployment specification and its defaults.

mod check;
mod settings;
mod tiers;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Tier;

pub use check::is_dns_label;
pub use settings::{Defaults, Settings};
pub use tiers::{
    COLD_HEADER, DedicatedTier, FLEET, FleetOptions, HEAD_BY_HEADER, HostHeader, LocalTier,
    PodTier, REMAINING_HEADER, ServerlessTier, Shape, Tiers, VOUCHER_HEADER, WHOLE_BY_HEADER,
};

/// What a user asked to serve. Fields that are `None` inherit the server's.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// A DNS label.
    pub name: String,
    /// Needed by every tier but `dedicated`.
    pub image: Option<String>,
    /// Overrides the image's entry point when not empty.
    pub command: Vec<String>,
    /// Arguments of the image.
    pub args: Vec<String>,
    /// The port that the image listens on.
    pub port: u16,
    /// How requests name their model and how errors look.
    pub protocol: Protocol,
    /// Environment of the image.
    pub env: BTreeMap<String, EnvValue>,
    /// What one instance needs.
    pub resources: Resources,
    /// When an instance is ready, and when it is no more.
    pub health: Health,
    /// The tiers that it may use.
    pub tiers: Tiers,
    /// When it moves between them.
    pub policy: PolicySpec,
    /// How many requests at a time, and where.
    pub concurrency: Concurrency,
    /// How long and how many may wait for a start.
    pub cold_start: ColdStart,
    /// Bounds on one request.
    pub limits: Limits,
    /// The latency it should meet.
    pub objective: Option<Objective>,
    /// What it may cost.
    pub budget: Option<Budget>,
    /// By what other names it is found.
    pub routes: Routes,
    /// What is no traffic.
    pub activity: Activity,
    /// An override that names the tier.
    pub forced: Option<Forced>,
}

impl Spec {
    /// A spec with only a name; everything else as if left out.
    pub fn named(name: impl Into<String>) -> Self {
        Spec {
            name: name.into(),
            image: None,
            command: Vec::new(),
            args: Vec::new(),
            port: 8000,
            protocol: Protocol::default(),
            env: BTreeMap::new(),
            resources: Resources::default(),
            health: Health::default(),
            tiers: Tiers::default(),
            policy: PolicySpec::default(),
            concurrency: Concurrency::default(),
            cold_start: ColdStart::default(),
            limits: Limits::default(),
            objective: None,
            budget: None,
            routes: Routes::default(),
            activity: Activity::default(),
            forced: None,
        }
    }
}

/// How requests name their model and how errors look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Any HTTP.
    #[default]
    Http,
    /// The OpenAI API.
    Openai,
}

/// One value of an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvValue {
    /// As it stands.
    Plain(String),
    /// The name of a secret that is filled in at start.
    Secret(String),
}

/// What one instance needs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resources {
    /// The floor of GPU memory, bytes; 0 = none.
    pub vram: u64,
    /// GPUs; 0 = none.
    pub gpus: u32,
    /// CPUs; 0 = as the provider sees fit.
    pub cpus: f64,
    /// Main memory, bytes; 0 = as the provider sees fit.
    pub memory: u64,
}

/// When an instance is ready, and when it is no more.
#[derive(Debug, Clone, PartialEq)]
pub struct Health {
    /// The readiness probe.
    pub ready: Ready,
    /// How long a start may take until ready.
    pub start_timeout: Duration,
    /// The liveness probe; never runs during a start.
    pub live: Option<Live>,
}

impl Default for Health {
    fn default() -> Self {
        Health {
            ready: Ready::default(),
            start_timeout: Duration::from_secs(600),
            live: None,
        }
    }
}

/// The readiness probe.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// The path asked.
    pub path: String,
    /// Statuses that mean ready; empty = any below 500.
    pub status: Vec<u16>,
    /// Statuses that mean "still loading".
    pub initializing: Vec<u16>,
    /// Passes in a row that it takes.
    pub successes: u32,
    /// Time between two probes.
    pub interval: Duration,
}

impl Default for Ready {
    fn default() -> Self {
        Ready {
            path: "/".to_owned(),
            status: Vec::new(),
            initializing: vec![204],
            successes: 1,
            interval: Duration::from_millis(250),
        }
    }
}

/// The liveness probe.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// The path asked; 200 to 399 is alive.
    pub path: String,
    /// Time between two probes.
    pub interval: Duration,
    /// Failures in a row after which the instance is replaced.
    pub failures: u32,
}

/// How the deployment's tier is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PolicyMode {
    /// Two fixed rates, with the room between them as hysteresis.
    #[default]
    Thresholds,
    /// Rates around the one from which a pod costs less than serverless.
    BreakEven,
    /// Whenever the other tier would have saved what a switch costs.
    Regret,
}

impl PolicyMode {
    /// Every mode.
    pub const ALL: [PolicyMode; 3] = [
        PolicyMode::Thresholds,
        PolicyMode::BreakEven,
        PolicyMode::Regret,
    ];

    /// The word used in specifications and configurations.
    pub const fn as_str(self) -> &'static str {
        match self {
            PolicyMode::Thresholds => "thresholds",
            PolicyMode::BreakEven => "break_even",
            PolicyMode::Regret => "regret",
        }
    }
}

/// When a deployment moves between tiers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PolicySpec {
    /// How thresholds come about.
    pub mode: Option<PolicyMode>,
    /// The window over which arrivals are counted, 1 s or more.
    pub window: Option<Duration>,
    /// Requests a second from which a pod serves.
    pub promote_rps: Option<f64>,
    /// Requests a second below which it stops serving.
    pub demote_rps: Option<f64>,
    /// The least time between two transitions.
    pub hold: Option<Duration>,
}

/// Whether requests may share an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Side by side, bounded by `max_concurrency`.
    #[default]
    Shared,
    /// One at a time per pool member.
    Exclusive,
}

/// How many instances serve the pool's members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Load {
    /// One instance for all.
    #[default]
    Once,
    /// An instance each.
    PerWorker,
}

/// Which member gets the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Selection {
    /// The next in turn.
    #[default]
    RoundRobin,
    /// The one with the least work in hand.
    LeastLoaded,
}

/// How many requests at a time, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concurrency {
    /// Whether requests may share an instance.
    pub strategy: Strategy,
    /// Members of the pool.
    pub workers: u32,
    /// How many instances serve them.
    pub load: Load,
    /// Which member gets the next request.
    pub selection: Selection,
    /// The most requests at a time over all instances; `None` = as many as the strategy allows.
    pub max_concurrency: Option<u32>,
    /// The most requests that wait for a place.
    pub queue: u32,
    /// Whether a member that errs is started anew; for the shared fleet alone.
    pub restart_on_error: bool,
}

impl Default for Concurrency {
    fn default() -> Self {
        Concurrency {
            strategy: Strategy::Shared,
            workers: 1,
            load: Load::Once,
            selection: Selection::RoundRobin,
            max_concurrency: None,
            queue: 32,
            restart_on_error: false,
        }
    }
}

impl Concurrency {
    /// The most requests at a time over all instances; `None` = no limit.
    pub fn limit(&self) -> Option<u32> {
        match (self.strategy, self.max_concurrency) {
            (Strategy::Shared, most) => most,
            (Strategy::Exclusive, most) => Some(most.unwrap_or(u32::MAX).min(self.workers)),
        }
    }

    /// The most requests at a time on one instance; `None` = no limit of its own.
    pub fn limit_per_instance(&self) -> Option<u32> {
        match (self.strategy, self.load) {
            (Strategy::Shared, _) => None,
            (Strategy::Exclusive, Load::Once) => Some(self.workers),
            (Strategy::Exclusive, Load::PerWorker) => Some(1),
        }
    }

    /// How many instances the pool's members need.
    pub fn instances(&self) -> u32 {
        match self.load {
            Load::Once => 1,
            Load::PerWorker => self.workers,
        }
    }
}

/// How long and how many may wait for a start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColdStart {
    /// How long a request is held.
    pub max_wait: Option<Duration>,
    /// How many are held.
    pub max_pending: Option<u32>,
}

/// Bounds on one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// From arrival to the last byte.
    pub deadline: Option<Duration>,
    /// From sending to the response's head.
    pub first_byte: Option<Duration>,
    /// Without a byte in either direction.
    pub idle: Option<Duration>,
    /// Bytes of a request's body; 0 = no limit.
    pub max_body: Option<u64>,
}

/// The latency that a deployment should meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objective {
    /// Of 95 in 100 requests.
    pub p95: Duration,
}

/// What a deployment may cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// Dollars a day.
    pub usd_per_day: f64,
}

/// By what other names a deployment is found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Routes {
    /// Exact host names, in lower case.
    pub hosts: Vec<String>,
    /// Further names.
    pub aliases: Vec<String>,
}

/// What is no traffic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Activity {
    /// Patterns of paths that neither count nor wake.
    pub ignore: Vec<String>,
}

/// An override that names the tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forced {
    /// The tier that wins.
    pub tier: Tier,
    /// Until when, in microseconds since 1970; `None` = until it is taken off.
    pub until: Option<i64>,
}
