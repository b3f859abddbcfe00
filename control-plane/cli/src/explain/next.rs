//! How far the next switch is.

use std::time::Duration;

use thermocline_policy::Tier;

use super::prose::{held, window};
use super::{money, words};
use crate::budget::Held;
use crate::output::{about, counted};
use crate::view::{Decision, Inputs};

/// What has to happen for another tier to be taken.
pub(super) fn switch(name: &str, decision: &Decision) -> Option<String> {
    let text = match (decision.reason.as_str(), decision.tier) {
        ("forced", _) => {
            return Some(format!(
                "Nothing else counts until `thermocline unforce {name}`."
            ));
        }
        ("dedicated" | "no_serverless" | "no_pod", _) | (_, Tier::Dedicated) => NO_RATE,
        (_, Tier::Pod) if decision.inputs.pod_pinned => {
            "It stays, whatever the rate: `min_instances` keeps a pod."
        }
        (_, Tier::Serverless | Tier::Pod) if !decision.inputs.rate_decides() => NO_RATE,
        (_, Tier::Local) => "This changes when the GPU memory no longer holds it.",
        (_, Tier::Pod) => return Some(demotion(decision)),
        (_, Tier::Serverless) => return Some(promotion(decision)),
    };
    Some(text.to_owned())
}

/// That a pod also ends without work, whatever the window still holds.
pub(super) fn idle_stop(decision: &Decision) -> Option<String> {
    let stays = decision.inputs.pod_pinned || decision.idle_stop.is_some();
    let idle = decision.costs.as_ref()?.times.pod_idle_s?;
    let idle = Duration::try_from_secs_f64(idle).ok()?;
    (decision.tier == Tier::Pod && !stays).then(|| {
        format!(
            "{} without a request stop its pod at the latest, whatever the rate.",
            about(idle)
        )
    })
}

const NO_RATE: &str = "The request rate changes nothing here.";
const AWAITED: &str = "Next switch: none before the first prices are known.";

fn promotion(decision: &Decision) -> String {
    let inputs = &decision.inputs;
    if let Some(Held::Itself(why)) = held(decision) {
        return format!("Next switch: none, the rate changes nothing while {why}.");
    }
    if matches!(decision.reason.as_str(), "hold" | "no_capacity" | "budget") {
        return format!(
            "{} for a pod; it waits: {}.",
            asks(inputs),
            waits_for(decision)
        );
    }
    match inputs.basis() {
        "regret" => by_regret(decision),
        "never_pays" => "Next switch: none at these prices.".to_owned(),
        "awaited_prices" => AWAITED.to_owned(),
        _ => by_count(inputs),
    }
}

fn by_count(inputs: &Inputs) -> String {
    match inputs.promotes_from().saturating_sub(inputs.count) {
        0 | 1 => "Next switch: the next request promotes it to pod.".to_owned(),
        more => format!(
            "Next switch: {more} more within {} promote it to pod.",
            window(inputs)
        ),
    }
}

fn by_regret(decision: &Decision) -> String {
    decision.by_regret().map_or_else(
        || "Next switch: when the other tier would have saved what a switch costs.".to_owned(),
        money::next_switch,
    )
}

fn demotion(decision: &Decision) -> String {
    let inputs = &decision.inputs;
    if matches!(
        decision.reason.as_str(),
        "busy" | "unobserved" | "hold" | "budget"
    ) {
        return format!(
            "{} for a demotion; it waits: {}.",
            asks(inputs),
            waits_for(decision)
        );
    }
    match inputs.basis() {
        "objective" => "Next switch: back to serverless once that would meet the objective at 0.7 of the rate too.".to_owned(),
        "regret" => by_regret(decision),
        "free" => "Next switch: none, a pod costs nothing.".to_owned(),
        "awaited_prices" => AWAITED.to_owned(),
        _ => fewer(inputs),
    }
}

fn fewer(inputs: &Inputs) -> String {
    match inputs.demotes_below() {
        0 => "Next switch: none, the rate never falls below zero.".to_owned(),
        least => {
            let fewer = (inputs.count + 1).saturating_sub(least).max(1);
            let demote = if fewer == 1 { "demotes" } else { "demote" };
            format!(
                "Next switch: {fewer} fewer within {} {demote} it.",
                window(inputs)
            )
        }
    }
}

fn waits_for(decision: &Decision) -> String {
    let inputs = &decision.inputs;
    if let Some(Held::Itself(why) | Held::Other(why)) = held(decision) {
        return why;
    }
    match decision.reason.as_str() {
        "busy" => format!("{} in flight", counted(inputs.in_flight, "request")),
        reason => words::words(reason, inputs).unwrap_or_default(),
    }
}

/// Who asks for a change of tier.
fn asks(inputs: &Inputs) -> &'static str {
    match inputs.basis() {
        "objective" => "The objective asks",
        "regret" | "never_pays" | "free" => "Its cost asks",
        _ => "The rate asks",
    }
}
