//! The parts of the server's answers that the verbs read.
//!
//! Unknown fields are ignored, so that a newer server can say more.

mod placed;

use std::fmt;

use serde::Deserialize;
use thermocline_policy::Tier;

pub(crate) use placed::Placed;

/// A list's entries.
#[derive(Debug, Deserialize)]
pub(crate) struct List<T> {
    pub(crate) items: Vec<T>,
}

/// A deployment; its specification is shown as it comes.
#[derive(Debug, Deserialize)]
pub(crate) struct Deployment {
    pub(crate) name: String,
    pub(crate) generation: u64,
    pub(crate) created_at: Option<String>,
    pub(crate) updated_at: Option<String>,
    pub(crate) status: Status,
}

/// What a deployment does now.
#[derive(Debug, Deserialize)]
pub(crate) struct Status {
    pub(crate) state: String,
    pub(crate) tier: Option<Tier>,
    pub(crate) reason: Option<String>,
    /// Arrivals per second.
    pub(crate) rps: f64,
    pub(crate) in_flight: u64,
    pub(crate) waiting: u64,
    pub(crate) instances: Vec<Instance>,
    pub(crate) last_error: Option<String>,
    /// What of its specification could not be checked.
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
    pub(crate) budget: Option<Budget>,
}

impl Status {
    /// Dollars an hour of what exists; `None` when nothing has such a price.
    pub(crate) fn usd_per_hour(&self) -> Option<f64> {
        let prices = self
            .instances
            .iter()
            .filter_map(|instance| instance.usd_per_hour);
        prices.reduce(|sum, price| sum + price)
    }

    /// Why it is as it is, as far as the server says.
    pub(crate) fn cause(&self) -> &str {
        let cause = self.last_error.as_deref().or(self.reason.as_deref());
        cause.unwrap_or("no reason given")
    }
}

/// Something that exists at a provider.
#[derive(Debug, Deserialize)]
pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) provider: Option<String>,
    pub(crate) tier: Tier,
    pub(crate) state: String,
    pub(crate) since: Option<String>,
    pub(crate) usd_per_hour: Option<f64>,
}

/// A provider.
#[derive(Debug, Deserialize)]
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) kind: Option<String>,
    pub(crate) health: String,
    pub(crate) rate_limited_until: Option<String>,
    pub(crate) last_error: Option<String>,
    /// Since when it is known not to answer.
    pub(crate) unanswered_since: Option<String>,
    /// What its live pods cost an hour.
    #[serde(default)]
    pub(crate) committed_usd_per_hour: f64,
    /// After how long without the server its pods end by themselves, seconds.
    pub(crate) max_absence_s: Option<u64>,
    /// The GPUs of the server's machine, of the Docker daemon alone.
    pub(crate) gpus: Option<Vec<Gpu>>,
    /// Why they could not be read.
    pub(crate) gpu_error: Option<String>,
}

/// A GPU of the server's machine.
#[derive(Debug, Deserialize)]
pub(crate) struct Gpu {
    pub(crate) index: u32,
    pub(crate) name: String,
    pub(crate) total_mib: u64,
    /// Whoever takes it; `None` where nobody can tell.
    pub(crate) used_mib: Option<u64>,
    /// What local instances were promised.
    pub(crate) reserved_mib: u64,
}

/// A decision, now or in the past.
#[derive(Debug, Deserialize)]
pub(crate) struct Decision {
    pub(crate) id: Option<Id>,
    pub(crate) at: String,
    /// A past decision calls it `to`, and the tier before it `from`.
    #[serde(alias = "to")]
    pub(crate) tier: Tier,
    pub(crate) reason: String,
    /// Whether it was wanted but not done.
    #[serde(default)]
    pub(crate) refused: bool,
    /// Whether a person stopped the deployment.
    #[serde(default)]
    pub(crate) stopped: bool,
    pub(crate) meanwhile: Option<Meanwhile>,
    #[serde(alias = "from")]
    pub(crate) current: Option<Tier>,
    pub(crate) inputs: Inputs,
    #[serde(default)]
    pub(crate) alternatives: Vec<Alternative>,
    /// Not of what older servers decided.
    pub(crate) costs: Option<Costs>,
    /// Of the decision now alone; nothing where nothing is limited.
    pub(crate) budget: Option<Budget>,
    /// The same; nothing where something runs, or has come since.
    pub(crate) idle_stop: Option<IdleStop>,
    /// The same; why the shared fleet could not serve it.
    pub(crate) unserved: Option<String>,
    /// The same; what keeps it from being started or stopped. Not of older servers.
    #[serde(default)]
    pub(crate) obstacles: Vec<String>,
}

/// What is left of a budget, and what it forbids.
#[derive(Debug, Deserialize)]
pub(crate) struct Budget {
    pub(crate) usd_per_day: Option<f64>,
    pub(crate) spent_today_usd: f64,
    pub(crate) committed_usd_per_hour: f64,
    pub(crate) resets_at: String,
    pub(crate) serverless: Brake,
    pub(crate) pod: Brake,
}

/// What a budget forbids in a tier, and why.
#[derive(Debug, Deserialize)]
pub(crate) struct Brake {
    pub(crate) brake: String,
    pub(crate) why: Option<String>,
    /// Not of older servers.
    pub(crate) until: Option<String>,
}

impl Decision {
    /// What the other tier would have saved, where that alone moves it.
    pub(crate) fn by_regret(&self) -> Option<&Regret> {
        let costs = self.costs.as_ref()?;
        let otherwise = matches!(self.reason.as_str(), "forced" | "dedicated" | "local_fits");
        let alone = self.inputs.basis() == "regret" && self.inputs.rate_decides() && !otherwise;
        // Nothing was compared yet, or a switch is free: there is no sum to speak of.
        let gathers = |regret: &&Regret| regret.switch_usd > 0.0;
        costs.regret.as_ref().filter(|_| alone).filter(gathers)
    }
}

impl Costs {
    /// What `tier` would cost, where the deployment has it.
    pub(crate) fn of(&self, tier: Tier) -> Option<&TierCost> {
        self.tiers.iter().find(|cost| cost.tier == tier)
    }
}

/// What a decision means in money.
#[derive(Debug, Deserialize)]
pub(crate) struct Costs {
    /// The rate that they are told at; older servers do not say.
    pub(crate) rate_rps: Option<f64>,
    pub(crate) break_even: BreakEven,
    pub(crate) tiers: Vec<TierCost>,
    pub(crate) prices: Option<Prices>,
    #[serde(default)]
    pub(crate) times: Times,
    pub(crate) regret: Option<Regret>,
    pub(crate) objective: Option<Objective>,
}

/// Where both tiers cost the same.
#[derive(Debug, Deserialize)]
pub(crate) struct BreakEven {
    pub(crate) rps: Option<f64>,
    pub(crate) answer: String,
}

/// What is paid, as far as it is known; dollars.
#[derive(Debug, Deserialize)]
pub(crate) struct Prices {
    pub(crate) serverless_usd_per_s: Option<f64>,
    pub(crate) pod_usd_per_hour: Option<f64>,
    pub(crate) value_of_wait_usd_per_s: f64,
}

/// What it is reckoned with, seconds; older servers tell less.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Times {
    /// The window, as asked for.
    pub(crate) window_s: Option<f64>,
    pub(crate) service_s: Option<f64>,
    pub(crate) pod_service_s: Option<f64>,
    pub(crate) cold_start_s: Option<f64>,
    pub(crate) boot_s: Option<f64>,
    /// How long a pod stays without work; `None` = for ever.
    pub(crate) pod_idle_s: Option<f64>,
    #[serde(default)]
    pub(crate) measured: Counts,
}

/// How many of each were measured; 0 = it is assumed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    pub(crate) serverless_service: u64,
    pub(crate) pod_service: u64,
    pub(crate) cold_start: u64,
    pub(crate) boot: u64,
}

/// What a tier would cost at the rate of now.
#[derive(Debug, Deserialize)]
pub(crate) struct TierCost {
    pub(crate) tier: Tier,
    pub(crate) usd_per_hour: Option<f64>,
    pub(crate) p95_s: f64,
}

/// What the other tier would have saved.
#[derive(Debug, Deserialize)]
pub(crate) struct Regret {
    pub(crate) saved_usd: f64,
    pub(crate) switch_usd: f64,
    /// The tier that would have saved it.
    pub(crate) to: Tier,
}

/// The latency to be met.
#[derive(Debug, Deserialize)]
pub(crate) struct Objective {
    pub(crate) p95_s: f64,
    pub(crate) steers: bool,
}

/// Who serves until the decided tier can.
#[derive(Debug, Deserialize)]
pub(crate) struct Meanwhile {
    pub(crate) tier: Tier,
    pub(crate) reason: String,
}

/// A tier that was not taken.
#[derive(Debug, Deserialize)]
pub(crate) struct Alternative {
    pub(crate) tier: Tier,
    pub(crate) reason: String,
}

/// The last instances of a tier stopped for want of work.
#[derive(Debug, Deserialize)]
pub(crate) struct IdleStop {
    pub(crate) tier: Tier,
    pub(crate) at: String,
}

/// Everything that a decision looked at.
#[derive(Debug, Deserialize)]
pub(crate) struct Inputs {
    /// Arrivals in the window.
    pub(crate) count: u64,
    /// The window, seconds.
    pub(crate) window_s: f64,
    /// Arrivals per second.
    pub(crate) rps: f64,
    /// Promotes at this many arrivals or more.
    #[serde(default, deserialize_with = "or_never")]
    pub(crate) promote_count: f64,
    /// Demotes below this many arrivals.
    #[serde(default, deserialize_with = "or_never")]
    pub(crate) demote_count: f64,
    /// What made the thresholds; older servers do not say.
    pub(crate) basis: Option<String>,
    /// What is left of a hold, seconds.
    pub(crate) hold_left_s: Option<f64>,
    /// Whether a whole window has been seen.
    pub(crate) observed: bool,
    /// Whether pods are kept whatever the rate, by `min_instances`.
    #[serde(default)]
    pub(crate) pod_pinned: bool,
    /// The tiers that the deployment has; none when the server does not say.
    #[serde(default)]
    pub(crate) tiers: Vec<Tier>,
    pub(crate) in_flight: u64,
}

impl Inputs {
    /// Whether the rate may move the deployment between serverless and pod.
    pub(crate) fn rate_decides(&self) -> bool {
        self.has(Tier::Serverless) && self.has(Tier::Pod) && !self.pod_pinned
    }

    /// Whether the deployment has `tier`; yes, when the server does not say.
    pub(crate) fn has(&self, tier: Tier) -> bool {
        self.tiers.is_empty() || self.tiers.contains(&tier)
    }

    /// What made the thresholds: two rates, where the server does not say.
    pub(crate) fn basis(&self) -> &str {
        self.basis.as_deref().unwrap_or("rates")
    }

    /// Whether it is a count of requests that moves it.
    pub(crate) fn goes_by_count(&self) -> bool {
        matches!(self.basis(), "rates" | "break_even")
    }

    /// The least count that promotes: `count >= x` and `count >= ceil(x)` say the same.
    pub(crate) fn promotes_from(&self) -> u64 {
        self.promote_count.ceil() as u64
    }

    /// The least count that does not demote.
    pub(crate) fn demotes_below(&self) -> u64 {
        self.demote_count.ceil() as u64
    }
}

/// A threshold that no rate reaches is written as null.
fn or_never<'de, D: serde::Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    Option::<f64>::deserialize(value).map(|count| count.unwrap_or(f64::INFINITY))
}

/// An identifier, of no further meaning.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Id {
    Number(u64),
    Text(String),
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Number(number) => number.fmt(f),
            Id::Text(text) => text.fmt(f),
        }
    }
}
