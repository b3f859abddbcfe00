use std::time::Duration;

use serde::Deserialize;
use thermocline_policy::{Prices, Tier, TierSet, UsdPerSecond, Work};
use thermocline_simulate::Assumptions;

use crate::failure::Failure;
use crate::output;
use crate::session::Session;

/// What the server knows of a deployment's prices and times.
#[derive(Debug, Deserialize)]
struct Decision {
    costs: Option<Costs>,
    #[serde(default)]
    inputs: Inputs,
}

#[derive(Debug, Default, Deserialize)]
struct Inputs {
    /// The tiers that the deployment has; none when the server does not say.
    #[serde(default)]
    tiers: Vec<Tier>,
}

#[derive(Debug, Deserialize)]
struct Costs {
    prices: KnownPrices,
    times: Times,
    objective: Option<Objective>,
}

#[derive(Debug, Deserialize)]
struct Objective {
    p95_s: f64,
}

#[derive(Debug, Deserialize)]
struct KnownPrices {
    serverless_usd_per_s: Option<f64>,
    pod_usd_per_hour: Option<f64>,
    value_of_wait_usd_per_s: f64,
}

#[derive(Debug, Deserialize)]
struct Times {
    service_s: f64,
    /// Older servers know one service time.
    pod_service_s: Option<f64>,
    cold_start_s: f64,
    billed_cold_share: f64,
    boot_s: f64,
    serverless_idle_s: f64,
    concurrency: u32,
    pod_idle_s: Option<f64>,
    window_s: Option<f64>,
}

/// `assumed`, with what the server knows of the deployment `name` in its place.
///
/// # Errors
/// Those of the call, unless there is no such deployment any more.
pub(super) async fn of(
    session: &Session,
    name: &str,
    assumed: &Assumptions,
) -> Result<Assumptions, Failure> {
    let client = &session.client;
    let document = match client.get(&["deployments", name, "decision"]).await {
        Ok(document) => document,
        Err(error) if error.is_not_found() => {
            output::note(&format!(
                "{name} is no longer there: its prices and times are the assumed ones"
            ));
            return Ok(assumed.clone());
        }
        Err(error) => return Err(error.into()),
    };
    let decision: Decision = client.view(&document)?;
    let mut assumed = assumed.clone();
    let has = |tier: &Tier| assumed.tiers.has(*tier);
    let tiers: TierSet = decision.inputs.tiers.iter().copied().filter(has).collect();
    if !decision.inputs.tiers.is_empty() {
        assumed.tiers = tiers;
    }
    let costs = decision.costs.as_ref();
    Ok(costs.map_or_else(|| assumed.clone(), |costs| costs.over(name, &assumed)))
}

impl Costs {
    fn over(&self, name: &str, assumed: &Assumptions) -> Assumptions {
        let mut known = assumed.clone();
        let (prices, times) = (&self.prices, &self.times);
        let serverless = prices.serverless_usd_per_s.and_then(UsdPerSecond::of);
        let pod = prices.pod_usd_per_hour.and_then(UsdPerSecond::hourly);
        for (tier, price) in [(Tier::Serverless, serverless), (Tier::Pod, pod)] {
            if price.is_none() && assumed.tiers.has(tier) {
                output::note(&format!(
                    "{name}: the price of {tier} is not known; the assumed one is taken"
                ));
            }
        }
        known.model.prices = Prices {
            serverless: serverless.or(assumed.model.prices.serverless),
            pod: pod.or(assumed.model.prices.pod),
            wait: UsdPerSecond::of(prices.value_of_wait_usd_per_s).unwrap_or_default(),
        };
        known.model.work = times.over(&assumed.model.work);
        known.objective = seconds(self.objective.as_ref().map(|it| it.p95_s));
        known.pod_idle = seconds(times.pod_idle_s).unwrap_or(assumed.pod_idle);
        let window = seconds(times.window_s);
        known.thresholds.window = window.unwrap_or(assumed.thresholds.window);
        known
    }
}

impl Times {
    fn over(&self, assumed: &Work) -> Work {
        Work {
            service: seconds(Some(self.service_s)).unwrap_or(assumed.service),
            service_on_pod: seconds(self.pod_service_s.or(Some(self.service_s)))
                .unwrap_or(assumed.service_on_pod),
            cold_start: seconds(Some(self.cold_start_s)).unwrap_or(assumed.cold_start),
            billed_cold_share: self.billed_cold_share,
            boot: seconds(Some(self.boot_s)).unwrap_or(assumed.boot),
            serverless_idle: seconds(Some(self.serverless_idle_s))
                .unwrap_or(assumed.serverless_idle),
            concurrency: self.concurrency.max(1),
        }
    }
}

fn seconds(seconds: Option<f64>) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds?).ok()
}
