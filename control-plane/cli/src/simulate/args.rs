use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use thermocline_policy::{CostModel, Prices, Thresholds, UsdPerSecond, Work, parse_duration};
use thermocline_simulate::{Assumptions, Candidate, Generator};

/// Replay arrivals through policies on a virtual clock and compare the costs
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").required(true).args(["trace", "from_ledger", "generate"]))]
pub(crate) struct Simulate {
    /// Arrivals: CSV with a header and a column t_s (seconds), optionally exec_s, model, in_tokens, out_tokens
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// The server's own arrivals of so long until now instead, 3 days at most; one deployment each, with its own prices and times where no flag says otherwise
    #[arg(long, value_name = "DURATION", value_parser = ledger)]
    pub(crate) from_ledger: Option<Duration>,
    /// Made-up arrivals instead: poisson, diurnal, on_off, bursty or rare, as poisson:rps=0.2,hours=24
    #[arg(long, value_name = "TRAFFIC")]
    pub(crate) generate: Option<Generator>,
    /// A policy, may be repeated: thresholds:promote=0.2,demote=0.05, break_even:up=2,down=0.5, regret, always:serverless, always:pod; all of them when absent
    #[arg(long = "policy", value_name = "POLICY")]
    pub(crate) policies: Vec<Candidate>,
    /// Exit 3 when a policy answers fewer than 95 of 100 requests within this, as p95=8s
    #[arg(long, value_name = "p95=DURATION", value_parser = objective)]
    pub(crate) objective: Option<Duration>,
    /// Draw rate, thresholds and tiers into this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// What a pod costs while it exists, dollars an hour [default: 1.39]
    #[arg(long, value_name = "USD", value_parser = hourly)]
    usd_per_hour: Option<UsdPerSecond>,
    /// What a serverless worker costs while it is up, dollars a second [default: 0.00076]
    #[arg(long, value_name = "USD", value_parser = per_second)]
    usd_per_second: Option<UsdPerSecond>,
    /// How long a request takes that the trace says nothing else of [default: 3s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    service_time: Option<Duration>,
    /// How long a serverless worker takes to come up [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    cold_start: Option<Duration>,
    /// The share of a cold start that is billed, 0 to 1 [default: 1]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    billed_cold_share: Option<f64>,
    /// How long a pod takes to come up [default: 150s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    boot: Option<Duration>,
    /// How long a serverless worker stays, billed, without work [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    serverless_idle: Option<Duration>,
    /// How long a pod stays without work, at most [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pod_idle: Option<Duration>,
    /// Requests that one worker or pod has in hand at a time [default: 16]
    #[arg(long, value_name = "N", value_parser = crate::args::whole(1..=65_536))]
    concurrency: Option<u32>,
    /// What a second of one user's waiting is worth, dollars; 0 = money alone counts [default: 0]
    #[arg(long, value_name = "USD", value_parser = per_second)]
    value_of_wait: Option<UsdPerSecond>,
    /// The window over which arrivals are counted, 1s to 24h [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = window)]
    window: Option<Duration>,
    /// How often `regret` compares the tiers, 1s to 1h
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = slot)]
    slot: Duration,
    /// Chooses made-up arrivals and failing starts; the same seed, the same result
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed)]
    pub(crate) seed: u64,
    /// The share of pod starts that find no capacity, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pod_failure_share: f64,
    /// Input tokens that are read a second, for traces with tokens
    #[arg(long, value_name = "N", default_value = "8000", value_parser = above_zero)]
    in_tokens_per_s: f64,
    /// How long an output token takes, for traces with tokens
    #[arg(long, value_name = "DURATION", default_value = "20ms", value_parser = duration)]
    out_token_time: Duration,
}

/// An A100 of 2026: dollars an hour as a pod, dollars a second as a worker.
const USD_PER_HOUR: f64 = 1.39;
const USD_PER_SECOND: f64 = 0.000_76;

impl Simulate {
    /// What the replay takes for granted where nothing is known.
    pub(crate) fn assumptions(&self) -> Assumptions {
        let prices = Prices {
            serverless: UsdPerSecond::of(USD_PER_SECOND),
            pod: UsdPerSecond::hourly(USD_PER_HOUR),
            wait: UsdPerSecond::ZERO,
        };
        let work = Work::default();
        let known = Assumptions {
            slot: self.slot,
            seed: self.seed,
            pod_failures: self.pod_failure_share,
            in_tokens_per_s: self.in_tokens_per_s,
            s_per_out_token: self.out_token_time.as_secs_f64(),
            ..Assumptions::of(CostModel { prices, work })
        };
        self.over(known)
    }

    /// What is `known`, where no flag says otherwise.
    pub(crate) fn over(&self, known: Assumptions) -> Assumptions {
        let (prices, work) = (known.model.prices, known.model.work);
        Assumptions {
            model: CostModel {
                prices: Prices {
                    serverless: self.usd_per_second.or(prices.serverless),
                    pod: self.usd_per_hour.or(prices.pod),
                    wait: self.value_of_wait.unwrap_or(prices.wait),
                },
                work: Work {
                    service: self.service_time.unwrap_or(work.service),
                    service_on_pod: self.service_time.unwrap_or(work.service_on_pod),
                    cold_start: self.cold_start.unwrap_or(work.cold_start),
                    billed_cold_share: self.billed_cold_share.unwrap_or(work.billed_cold_share),
                    boot: self.boot.unwrap_or(work.boot),
                    serverless_idle: self.serverless_idle.unwrap_or(work.serverless_idle),
                    concurrency: self.concurrency.unwrap_or(work.concurrency),
                },
            },
            thresholds: Thresholds {
                window: self.window.unwrap_or(known.thresholds.window),
                ..known.thresholds
            },
            pod_idle: self.pod_idle.unwrap_or(known.pod_idle),
            ..known
        }
    }

    /// The policies asked for, or one of each kind.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        match self.policies.is_empty() {
            true => Candidate::ALL.to_vec(),
            false => self.policies.clone(),
        }
    }
}

fn ledger(text: &str) -> Result<Duration, String> {
    const MOST: Duration = Duration::from_secs(3 * 86_400);
    let duration = crate::args::some_duration(text)?;
    match duration <= MOST {
        true => Ok(duration),
        false => Err("must be 72h or less".to_owned()),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    const MOST: Duration = Duration::from_secs(86_400);
    let duration = parse_duration(text).map_err(|error| format!("{error}, as in 30s or 5m"))?;
    match duration <= MOST {
        true => Ok(duration),
        false => Err("must be 24h or less".to_owned()),
    }
}

fn window(text: &str) -> Result<Duration, String> {
    let window = duration(text)?;
    match window >= Duration::from_secs(1) {
        true => Ok(window),
        false => Err("must be from 1s to 24h".to_owned()),
    }
}

fn slot(text: &str) -> Result<Duration, String> {
    let slot = duration(text)?;
    match (1..=3600).contains(&slot.as_secs()) {
        true => Ok(slot),
        false => Err("must be from 1s to 1h".to_owned()),
    }
}

fn objective(text: &str) -> Result<Duration, String> {
    let p95 = text.strip_prefix("p95=").ok_or("must be as p95=8s")?;
    match duration(p95)? {
        Duration::ZERO => Err("must be above 0s, as p95=8s".to_owned()),
        p95 => Ok(p95),
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("must be a whole number from 0 to {}", u64::MAX))
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

fn per_second(text: &str) -> Result<UsdPerSecond, String> {
    let price = number(text).filter(|usd| *usd <= 1e6);
    price
        .and_then(UsdPerSecond::of)
        .ok_or_else(|| "must be dollars a second, 0 to 1000000, as 0.00076".to_owned())
}

fn hourly(text: &str) -> Result<UsdPerSecond, String> {
    let price = number(text).filter(|usd| *usd <= 1e6);
    price
        .and_then(UsdPerSecond::hourly)
        .ok_or_else(|| "must be dollars an hour, 0 to 1000000, as 1.39".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    number(text)
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "must be a number from 0 to 1".to_owned())
}

fn above_zero(text: &str) -> Result<f64, String> {
    number(text)
        .filter(|n| n.is_finite() && *n > 0.0)
        .ok_or_else(|| "must be a number above 0".to_owned())
}
