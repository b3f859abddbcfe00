//! A decision in money: what each tier would cost at the rate of now, where they
//! cost the same, and what a user would wait.

use std::time::Duration;

use serde_json::{Value, json};
use thermocline_policy::{BreakEven, CostModel, Moment, PolicyMode, Rate, Tier, UsdPerSecond};
use thermocline_table::{Config, Measured, Tally};

use crate::books::{Steer, work_of};
use crate::deployment::Controlled;

/// The part of the JSON of a decision for `on` that speaks of money.
pub(crate) fn costs_json(deployment: &Controlled, on: Tier, now: Moment) -> Value {
    let live = &deployment.live;
    let config = live.config.load();
    let steer = deployment.books.steer(on);
    let compares = [Tier::Serverless, Tier::Pod]
        .into_iter()
        .all(|tier| config.spec.tiers.set().has(tier));
    let rate = live.rate(now);
    let p95 = |tier| service(&live.tally, &steer.model, tier).p95;
    let tiers = [Tier::Serverless, Tier::Pod].into_iter();
    let tiers: Vec<Value> = tiers
        .filter(|tier| config.spec.tiers.set().has(*tier))
        .map(|tier| tier_json(&steer.model, tier, rate, p95(tier)))
        .collect();
    let objective = config.spec.objective.as_ref();
    json!({
        "mode": config.settings.mode.as_str(),
        // Over what of the window has been watched: it is what the tiers are costed at.
        "rate_rps": rate.as_per_second(),
        "prices": prices_json(&steer.model),
        "times": times_json(&steer.model, &live.tally, &config),
        "break_even": break_even_json(steer.break_even, compares),
        "tiers": tiers,
        "regret": regret_json(config.settings.mode, &steer, compares),
        "objective": objective.map(|o| json!({ "p95_s": o.p95.as_secs_f64(), "steers": steer.held_to_objective })),
    })
}

/// Service times of `tier`: those of the busiest tier where it has none, the
/// prior's where nothing was measured.
pub(crate) fn service(tally: &Tally, model: &CostModel, tier: Tier) -> Measured {
    let own = tally.service[tier].measured();
    match own.count {
        0 => busiest(tally, model),
        _ => own,
    }
}

/// Service times of the tier that has most; the prior's where nothing was measured.
fn busiest(tally: &Tally, model: &CostModel) -> Measured {
    let all = tally.service.iter().map(|(_, sketch)| sketch.measured());
    let most = all
        .max_by_key(|measured| measured.count)
        .unwrap_or_default();
    match most.count {
        0 => Measured {
            mean: model.work.service,
            p50: model.work.service,
            p95: model.work.service,
            ..most
        },
        _ => most,
    }
}

fn tier_json(model: &CostModel, tier: Tier, rate: Rate, service_p95: Duration) -> Value {
    let (cost, wait) = match tier {
        Tier::Serverless => (model.serverless(rate), model.wait_p95(rate)),
        _ => (model.pod(rate), Duration::ZERO),
    };
    let priced = match tier {
        Tier::Serverless => model.prices.serverless,
        _ => model.prices.pod,
    };
    json!({
        "tier": tier,
        "usd_per_hour": priced.and(cost).map(UsdPerSecond::as_usd_per_hour),
        "p95_s": (service_p95 + wait).as_secs_f64(),
    })
}

fn prices_json(model: &CostModel) -> Value {
    let prices = &model.prices;
    json!({
        "serverless_usd_per_s": prices.serverless.map(UsdPerSecond::as_usd),
        "pod_usd_per_hour": prices.pod.map(UsdPerSecond::as_usd_per_hour),
        "value_of_wait_usd_per_s": prices.wait.as_usd(),
    })
}

fn times_json(model: &CostModel, tally: &Tally, config: &Config) -> Value {
    // As of now, like the counts beside it: what steers follows within a second.
    let work = work_of(tally, &config.spec);
    let measured = busiest(tally, model);
    let served = |tier: Tier| tally.service[tier].measured().count;
    let pod_idle = config.spec.idle_timeout(Tier::Pod);
    json!({
        "service_s": work.service.as_secs_f64(),
        "pod_service_s": work.service_on_pod.as_secs_f64(),
        "service_p50_s": measured.p50.as_secs_f64(),
        "service_p95_s": measured.p95.as_secs_f64(),
        "cold_start_s": work.cold_start.as_secs_f64(),
        "billed_cold_share": work.billed_cold_share,
        "boot_s": work.boot.as_secs_f64(),
        "serverless_idle_s": work.serverless_idle.as_secs_f64(),
        "concurrency": work.concurrency,
        // As asked for; a mode may stop a pod sooner and widen the window.
        "pod_idle_s": pod_idle.map(|idle| idle.as_secs_f64()),
        "window_s": config.settings.thresholds.window.as_secs_f64(),
        // How many of each were measured; 0 = the documented prior.
        "measured": {
            "service": Tier::ALL.into_iter().map(served).sum::<u64>(),
            "serverless_service": served(Tier::Serverless),
            "pod_service": served(Tier::Pod),
            "cold_start": tally.woken.measured().count,
            "boot": tally.starts[Tier::Pod].measured().count,
        },
    })
}

fn break_even_json(break_even: BreakEven, compares: bool) -> Value {
    let (rps, answer) = match break_even {
        _ if !compares => (None, "one_tier"),
        BreakEven::At(rate) => (Some(rate.as_per_second()), "at"),
        BreakEven::Always => (Some(0.0), "always"),
        BreakEven::Never => (None, "never"),
        BreakEven::Unpriced(Tier::Pod) => (None, "pod_unpriced"),
        BreakEven::Unpriced(_) => (None, "serverless_unpriced"),
    };
    json!({ "rps": rps, "answer": answer })
}

/// `null` where there is nothing to switch between, or prices alone decide.
fn regret_json(mode: PolicyMode, steer: &Steer, compares: bool) -> Value {
    let weighs = matches!(steer.break_even, BreakEven::At(_) | BreakEven::Always);
    if mode != PolicyMode::Regret || !compares || !weighs {
        return Value::Null;
    }
    json!({
        "saved_usd": steer.regret.saved_usd(),
        "switch_usd": steer.regret.switch_usd(),
        // The tier that would have saved it.
        "to": steer.regret.towards(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pod_answers_quickly_says_nothing_of_serverless() {
        let (tally, model) = (Tally::default(), CostModel::default());
        let p95 = |tier| service(&tally, &model, tier).p95;
        assert_eq!(p95(Tier::Serverless), model.work.service, "the prior");
        tally.service[Tier::Serverless].record(Duration::from_millis(1_100));
        assert!(
            p95(Tier::Pod) > Duration::from_secs(1),
            "as far as is known"
        );
        for _ in 0..100 {
            tally.service[Tier::Pod].record(Duration::from_millis(120));
        }
        assert!(p95(Tier::Pod) < Duration::from_millis(200));
        assert!(p95(Tier::Serverless) > Duration::from_secs(1));
    }
}
