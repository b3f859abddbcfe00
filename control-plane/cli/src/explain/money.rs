//! What the tiers cost, in sentences.

use thermocline_policy::Tier;

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
    let at = match decision.inputs.count {
        0 => "Without requests",
        _ => "At this rate",
    };
    let mut lines = vec![format!("{at} {}.", priced.join(", "))];
    if costs.tiers.len() > 1 {
        lines.extend(break_even(costs, decision.inputs.rps));
    }
    lines.extend(decision.by_regret().map(|it| regret(it, decision.tier)));
    let of = |objective| objective_of(costs, objective);
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
        _ => "Without both prices the fixed thresholds hold.".to_owned(),
    };
    Some(line)
}

/// How much has gathered for a move to the other tier, and how much moves it.
fn regret(regret: &Regret, on: Tier) -> String {
    let to = regret.other(on);
    let (saved, switch) = (dollars(regret.saved_usd), dollars(regret.switch_usd));
    match regret.is_due() {
        true if to == on => format!(
            "It switched to {to}, which would have saved the ${switch} that a switch there and back costs."
        ),
        true => format!(
            "Since the last switch {to} would have saved the ${switch} that a switch there and back costs, so it switches to {to}."
        ),
        false => format!(
            "Since the last switch {to} would have saved ${saved} of the ${switch} that a switch there and back costs, so it stays."
        ),
    }
}

/// What has to gather for another tier to be taken.
pub(super) fn next_switch(regret: &Regret, on: Tier) -> Option<String> {
    let (saved, switch) = (regret.saved_usd, regret.switch_usd);
    match (regret.is_due(), regret.other(on)) {
        (true, to) if to == on => {
            let (back, switch) = (opposite(on), dollars(switch));
            Some(format!(
                "Next switch: back to {back}, once that would have saved ${switch}."
            ))
        }
        (true, _) => None,
        (false, to) => {
            let missing = dollars(switch - saved);
            Some(format!(
                "Next switch: to {to}, once that would have saved ${missing} more."
            ))
        }
    }
}

fn objective_of(costs: &Costs, objective: &Objective) -> String {
    let p95 = |tier| costs.of(tier).map(|cost| cost.p95_s);
    let meets = |tier| p95(tier).is_some_and(|p95| p95 <= objective.p95_s);
    let says = match (objective.steers, p95(Tier::Pod)) {
        (false, _) if meets(Tier::Serverless) => "is met by serverless too",
        (false, _) => "is looked at again every ten seconds: serverless misses it now",
        (true, None) => "is missed, and there is no pod tier to meet it with",
        (true, Some(_)) if meets(Tier::Serverless) => {
            "keeps the pod: serverless would meet it at this rate, but not yet at 0.7 of it, as a switch back asks"
        }
        (true, Some(_)) if meets(Tier::Pod) => "asks for a pod: serverless would miss it",
        (true, Some(_)) => "is met by neither tier; a pod serves, which is the faster one",
    };
    format!(
        "The objective, 95 of 100 within {} s, {says}.",
        objective.p95_s
    )
}

impl Regret {
    /// Whether enough has gathered.
    pub(super) fn is_due(&self) -> bool {
        self.saved_usd > 0.0 && self.saved_usd >= self.switch_usd
    }

    /// The tier that would have saved it, seen from `on`.
    fn other(&self, on: Tier) -> Tier {
        self.to.unwrap_or(opposite(on))
    }
}

fn opposite(on: Tier) -> Tier {
    match on {
        Tier::Pod => Tier::Serverless,
        _ => Tier::Pod,
    }
}
