//! What the tiers cost, in sentences.

use crate::output::dollars;
use crate::view::{Costs, Decision, TierCost};

/// Cost and latency of each tier at the rate of now, and what follows.
pub(super) fn tell(decision: &Decision) -> Vec<String> {
    let Some(costs) = &decision.costs else {
        return Vec::new();
    };
    let priced: Vec<String> = costs.tiers.iter().map(tier).collect();
    if priced.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("At this rate {}.", priced.join(", "))];
    if costs.tiers.len() > 1 {
        lines.extend(break_even(costs, decision.inputs.rps));
    }
    lines.extend(regret(costs));
    lines.extend(objective(costs));
    lines
}

fn tier(cost: &TierCost) -> String {
    let within = format!("95 of 100 answered within {:.1} s", cost.p95_s);
    match cost.usd_per_hour {
        Some(usd) => format!("{} costs ${} an hour ({within})", cost.tier, dollars(usd)),
        None => format!("{} has no known price ({within})", cost.tier),
    }
}

fn break_even(costs: &Costs, rps: f64) -> Option<String> {
    let line = match costs.break_even.answer.as_str() {
        "at" => {
            let at = costs.break_even.rps?;
            let side = if rps < at { "below" } else { "above" };
            format!("They cost the same at {at:.3} requests a second; it is {side} that.")
        }
        "always" => "A pod costs nothing, so it is the cheaper one at any rate.".to_owned(),
        "never" => "A pod is at no rate the cheaper one.".to_owned(),
        _ => "Without both prices the fixed thresholds hold.".to_owned(),
    };
    Some(line)
}

fn regret(costs: &Costs) -> Option<String> {
    let regret = costs.regret.as_ref()?;
    let verdict = match regret.saved_usd >= regret.switch_usd {
        true => "so it switches",
        false => "so it stays",
    };
    Some(format!(
        "Since the last switch the other tier would have saved ${}; switching costs ${}; {verdict}.",
        dollars(regret.saved_usd),
        dollars(regret.switch_usd),
    ))
}

fn objective(costs: &Costs) -> Option<String> {
    let objective = costs.objective.as_ref()?;
    let within = objective.p95_s;
    Some(match objective.steers {
        true => format!(
            "The objective, 95 of 100 within {within} s, asks for a pod: serverless would miss it."
        ),
        false => format!("The objective, 95 of 100 within {within} s, is met by serverless too."),
    })
}
