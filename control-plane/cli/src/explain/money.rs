//! What the tiers cost, in sentences.

use thermocline_policy::Tier;

use super::known;
use crate::output::dollars;
use crate::view::{Costs, Decision, Objective, Regret, TierCost};

/// Cost and latency of each tier at the rate of now, and what follows.
pub(super) fn tell(decision: &Decision) -> Vec<String> {
    let Some(costs) = &decision.costs else {
        return Vec::new();
    };
    let priced: Vec<String> = costs.tiers.iter().map(tier).collect();
    if priced.is_empty() {
        return Vec::new();
    }
    let (told, rps) = (
        decision.inputs.rps,
        costs.rate_rps.unwrap_or(decision.inputs.rps),
    );
    let at = match decision.inputs.count {
        0 => "Without requests".to_owned(),
        _ if (rps - told).abs() > 0.01 * told => {
            format!("At {rps:.2} per second, the rate since it is watched,")
        }
        _ => "At this rate".to_owned(),
    };
    let mut lines = known::tell(costs);
    lines.push(format!("{at} {}.", priced.join(", ")));
    if costs.tiers.len() > 1 {
        lines.extend(break_even(costs, rps));
    }
    lines.extend(decision.by_regret().map(regret));
    let of = |it| objective(decision, costs, it);
    lines.extend(costs.objective.as_ref().map(of));
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
        "one_tier" => return None,
        _ => "Without both prices the fixed thresholds hold.".to_owned(),
    };
    Some(line)
}

/// How much has gathered for a move to the other tier, and how much moves it.
fn regret(regret: &Regret) -> String {
    let to = regret.to;
    let (saved, switch) = (dollars(regret.saved_usd), dollars(regret.switch_usd));
    match regret.is_due() {
        true => format!(
            "Since the last switch {to} would have saved the ${switch} that a switch there and back costs, which is enough for one."
        ),
        false => format!(
            "Since the last switch {to} would have saved ${saved} of the ${switch} that a switch there and back costs, so it stays."
        ),
    }
}

/// What has to gather for another tier to be taken.
pub(super) fn next_switch(regret: &Regret) -> String {
    let (to, missing) = (regret.to, regret.switch_usd - regret.saved_usd);
    match regret.is_due() {
        true => format!("Next switch: to {to}, now."),
        false => format!(
            "Next switch: to {to}, once that would have saved ${} more.",
            dollars(missing)
        ),
    }
}

/// What the objective asks for, and what serves.
fn objective(decision: &Decision, costs: &Costs, objective: &Objective) -> String {
    let p95 = |tier| costs.of(tier).map(|cost| cost.p95_s);
    let meets = |tier| p95(tier).is_some_and(|p95| p95 <= objective.p95_s);
    let serverless_meets = meets(Tier::Serverless);
    let says = match (objective.steers, decision.tier) {
        (false, _) if serverless_meets => "is met by serverless at this rate",
        (false, _) => "is looked at again every ten seconds: serverless misses it now",
        (true, _) if p95(Tier::Pod).is_none() => {
            "is missed, and there is no pod tier to meet it with"
        }
        (true, _) if serverless_meets => {
            "keeps a pod: serverless would meet it now; it goes back once serverless would at 0.7 of the rate too, looked at every ten seconds"
        }
        (true, Tier::Pod) if !meets(Tier::Pod) => {
            "is met by neither tier; a pod serves, which is the faster one"
        }
        (true, _) => "asks for a pod: serverless would miss it",
    };
    format!(
        "The objective, 95 of 100 within {} s, {says}.",
        objective.p95_s
    )
}

impl Regret {
    /// Whether enough has gathered.
    fn is_due(&self) -> bool {
        self.saved_usd > 0.0 && self.saved_usd >= self.switch_usd
    }
}
