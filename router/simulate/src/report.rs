use std::time::Duration;

use serde::Serialize;
use thermocline_policy::{Tier, TierSet};

use crate::assumptions::Assumptions;
use crate::candidate::Candidate;
use crate::tally::Tally;

/// What a replay found. Its JSON is a contract.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// What was replayed.
    pub trace: TraceReport,
    /// What was taken for granted.
    pub assumptions: AssumptionsReport,
    /// The best possible with hindsight.
    pub optimum: OptimumReport,
    /// Each policy, in the order asked for.
    pub policies: Vec<PolicyReport>,
    /// The deployments that the sums above leave out: they lack a tier that
    /// others choose with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Each value of `model` by itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deployments: Vec<DeploymentReport>,
}

/// What was replayed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceReport {
    /// Requests.
    pub arrivals: u64,
    /// From the first to the last, seconds.
    pub span_s: f64,
}

/// What was taken for granted; durations in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssumptionsReport {
    /// A pod, dollars an hour.
    pub usd_per_hour: f64,
    /// A serverless worker, dollars a second.
    pub usd_per_second: f64,
    /// A request that says nothing else.
    pub service_time_s: f64,
    /// The same, on a pod.
    pub service_time_on_pod_s: f64,
    /// Input tokens read a second.
    pub in_tokens_per_s: f64,
    /// Seconds that an output token takes.
    pub s_per_out_token: f64,
    /// A serverless worker's cold start.
    pub cold_start_s: f64,
    /// The share of it that is billed.
    pub billed_cold_share: f64,
    /// A pod's boot.
    pub boot_s: f64,
    /// How long a serverless worker stays without work.
    pub serverless_idle_s: f64,
    /// What policies that choose a tier are held to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective_p95_s: Option<f64>,
    /// How long a pod stays without work, at most.
    pub pod_idle_s: f64,
    /// Requests in hand at a time.
    pub concurrency: u32,
    /// A second of a user's waiting, dollars.
    pub value_of_wait_usd_per_s: f64,
    /// The window.
    pub window_s: f64,
    /// How often `regret` compares.
    pub slot_s: f64,
    /// The share of pod starts that find no capacity.
    pub pod_failure_share: f64,
    /// Chooses which they are.
    pub seed: u64,
}

/// The best possible with hindsight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OptimumReport {
    /// Dollars; with one pod per deployment, and not above any policy tried.
    /// `null` where there is nothing to compare, for want of serverless.
    pub cost_usd: Option<f64>,
}

/// What one policy would have cost and caused.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyReport {
    /// Its name and numbers.
    pub policy: String,
    /// The tier that it needs and that there is not; nothing of it is counted then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<Tier>,
    /// Dollars, with priced waiting in them; `null` where a tier is lacking.
    pub cost_usd: Option<f64>,
    /// Over the optimum's; `null` when that is 0.
    pub cost_over_optimum: Option<f64>,
    /// Serverless workers that were started.
    pub cold_starts: u64,
    /// From arrival until a backend had the request, seconds.
    pub wait_s: Waits,
    /// Changes of tier.
    pub transitions: u64,
    /// Pods paid for.
    pub pod_hours: f64,
    /// Time that pods were ready over time that they booted; `null` without a boot.
    pub pod_utility: Option<f64>,
    /// From arrival to the last byte, the 95th percentile, seconds.
    #[serde(skip)]
    pub response_p95_s: f64,
}

/// Quantiles of waiting, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Waits {
    /// Half wait no longer.
    pub p50: f64,
    /// 95 of 100 wait no longer.
    pub p95: f64,
    /// 99 of 100 wait no longer.
    pub p99: f64,
}

/// One value of `model`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeploymentReport {
    /// The value.
    pub model: String,
    /// Its part of the trace.
    pub trace: TraceReport,
    /// What was taken for granted of it, where that is something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumptions: Option<AssumptionsReport>,
    /// Its optimum.
    pub optimum: OptimumReport,
    /// Each policy.
    pub policies: Vec<PolicyReport>,
}

/// What was counted of one deployment.
pub(crate) struct Counted<'r> {
    pub(crate) assumptions: &'r Assumptions,
    pub(crate) arrivals: u64,
    /// From its first arrival to its last.
    pub(crate) span: Duration,
    pub(crate) optimum: f64,
    pub(crate) tallies: Vec<&'r Tally>,
}

impl Counted<'_> {
    fn has(&self, tier: Tier) -> bool {
        self.assumptions.tiers.has(tier)
    }

    fn optimum(&self) -> Option<f64> {
        self.has(Tier::Serverless).then_some(self.optimum)
    }
}

impl Report {
    pub(crate) fn of(
        candidates: &[Candidate],
        assumptions: &Assumptions,
        counted: &[Counted<'_>],
        names: &[String],
        span: Duration,
    ) -> Self {
        let tiers = comparable(counted);
        let is_compared = |c: &Counted<'_>| c.assumptions.tiers.has_all(tiers);
        let compared = || counted.iter().filter(|c| is_compared(c));
        let optimum = (!tiers.is_empty()).then(|| compared().map(|c| c.optimum).sum::<f64>());
        let sums: Vec<Tally> = (0..candidates.len())
            .map(|i| {
                let mut sum = Tally::default();
                compared().for_each(|c| sum.merge(c.tallies[i]));
                sum
            })
            .collect();
        let all: Vec<&Tally> = sums.iter().collect();
        Report {
            trace: TraceReport::of(counted.iter().map(|c| c.arrivals).sum(), span),
            assumptions: AssumptionsReport::of(assumptions),
            optimum: OptimumReport::of(optimum),
            policies: policies(candidates, &all, optimum, tiers),
            left_out: std::iter::zip(names, counted)
                .filter(|(_, counted)| !is_compared(counted))
                .map(|(name, _)| name.clone())
                .collect(),
            deployments: std::iter::zip(names, counted)
                .map(|(name, c)| DeploymentReport {
                    model: name.clone(),
                    trace: TraceReport::of(c.arrivals, c.span),
                    assumptions: (c.assumptions != assumptions)
                        .then(|| AssumptionsReport::of(c.assumptions)),
                    optimum: OptimumReport::of(c.optimum()),
                    policies: policies(candidates, &c.tallies, c.optimum(), c.assumptions.tiers),
                })
                .collect(),
        }
    }
}

/// The tiers that what is summed up has to have: serverless and pod, where any
/// deployment chooses between them; else serverless; else there is nothing to compare.
fn comparable(counted: &[Counted<'_>]) -> TierSet {
    let serverless = TierSet::EMPTY.with(Tier::Serverless);
    [Assumptions::both_tiers(), serverless]
        .into_iter()
        .find(|tiers| counted.iter().any(|c| c.assumptions.tiers.has_all(*tiers)))
        .unwrap_or(TierSet::EMPTY)
}

impl TraceReport {
    fn of(arrivals: u64, span: Duration) -> Self {
        TraceReport {
            arrivals,
            span_s: rounded(span.as_secs_f64()),
        }
    }
}

impl OptimumReport {
    fn of(usd: Option<f64>) -> Self {
        OptimumReport {
            cost_usd: usd.map(rounded),
        }
    }
}

fn policies(
    candidates: &[Candidate],
    tallies: &[&Tally],
    optimum: Option<f64>,
    tiers: TierSet,
) -> Vec<PolicyReport> {
    std::iter::zip(candidates, tallies)
        .map(|(candidate, tally)| match candidate.lacks(tiers) {
            Some(tier) => PolicyReport::impossible(candidate, tier),
            None => PolicyReport::of(candidate, tally, optimum),
        })
        .collect()
}

impl PolicyReport {
    fn of(candidate: &Candidate, tally: &Tally, optimum: Option<f64>) -> Self {
        let optimum = optimum.filter(|usd| *usd > 0.0);
        PolicyReport {
            policy: candidate.to_string(),
            lacks: None,
            cost_usd: Some(rounded(tally.usd)),
            cost_over_optimum: optimum.map(|usd| rounded(tally.usd / usd)),
            cold_starts: tally.cold_starts,
            wait_s: Waits {
                p50: tally.waits.at(0.5),
                p95: tally.waits.at(0.95),
                p99: tally.waits.at(0.99),
            },
            transitions: tally.transitions,
            pod_hours: rounded(tally.pod_s / 3600.0),
            pod_utility: (tally.boot_s > 0.0).then(|| rounded(tally.useful_s / tally.boot_s)),
            response_p95_s: tally.responses.at(0.95),
        }
    }

    fn impossible(candidate: &Candidate, lacks: Tier) -> Self {
        PolicyReport {
            lacks: Some(lacks),
            cost_usd: None,
            ..PolicyReport::of(candidate, &Tally::default(), None)
        }
    }
}

impl AssumptionsReport {
    /// What `a` takes for granted.
    pub fn of(a: &Assumptions) -> Self {
        let (prices, work) = (&a.model.prices, &a.model.work);
        AssumptionsReport {
            usd_per_hour: rounded(prices.pod.unwrap_or_default().as_usd_per_hour()),
            usd_per_second: prices.serverless.unwrap_or_default().as_usd(),
            service_time_s: rounded(work.service.as_secs_f64()),
            service_time_on_pod_s: rounded(work.service_on_pod.as_secs_f64()),
            in_tokens_per_s: a.in_tokens_per_s,
            s_per_out_token: a.s_per_out_token,
            cold_start_s: rounded(work.cold_start.as_secs_f64()),
            billed_cold_share: work.billed_cold_share,
            boot_s: rounded(work.boot.as_secs_f64()),
            serverless_idle_s: rounded(work.serverless_idle.as_secs_f64()),
            objective_p95_s: a.objective.map(|p95| rounded(p95.as_secs_f64())),
            pod_idle_s: rounded(a.pod_idle.as_secs_f64()),
            concurrency: work.concurrency,
            value_of_wait_usd_per_s: prices.wait.as_usd(),
            window_s: rounded(a.thresholds.window.as_secs_f64()),
            slot_s: a.slot.as_secs_f64(),
            pod_failure_share: a.pod_failures,
            seed: a.seed,
        }
    }
}

/// To a millionth: what is beyond has no meaning.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
