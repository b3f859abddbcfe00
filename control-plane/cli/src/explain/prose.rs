//! The sentences.

use std::time::Duration;

use thermocline_policy::Tier;

use super::money;
use crate::budget;
use crate::output::{about, plain};
use crate::view::{Alternative, Decision, Inputs};

/// The decision in a few sentences, one thought per line.
pub(crate) fn tell(name: &str, decision: &Decision) -> String {
    let mut lines = vec![format!(
        "{name} is served by {}: {}.",
        decision.tier,
        rule(&decision.reason, &decision.inputs)
    )];
    lines.extend(decision.meanwhile.as_ref().map(|meanwhile| {
        let why = rule(&meanwhile.reason, &decision.inputs);
        format!(
            "Until {} can serve, {} does: {why}.",
            decision.tier, meanwhile.tier
        )
    }));
    lines.push(traffic(decision));
    lines.extend(money::tell(decision));
    lines.extend(decision.budget.iter().flat_map(budget::sentences));
    lines.extend(next_switch(name, decision));
    let refusals = decision.alternatives.iter();
    lines.extend(refusals.map(|tier| refusal(tier, &decision.inputs)));
    lines.push(format!("Decided at {}.", decision.at));
    lines
        .iter()
        .map(|line| plain(line))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The rule that fired, in words and by its name.
fn rule(reason: &str, inputs: &Inputs) -> String {
    match words(reason, inputs) {
        Some(words) => format!("{words} (rule `{reason}`)"),
        None => format!("rule `{reason}`"),
    }
}

/// `None` for a reason that only a newer server knows.
fn words(reason: &str, inputs: &Inputs) -> Option<String> {
    let (promote, demote) = thresholds(inputs);
    let words = match reason {
        "forced" => "a person forced this tier",
        "dedicated" => "a pinned instance always wins",
        "local_fits" => "this machine's GPU memory holds it",
        "no_serverless" => "there is no serverless tier",
        "no_pod" => "there is no pod tier",
        "pod_warm" if inputs.pod_pinned => "a pod is kept",
        "pod_warm" if by_money(promote) => "going back to serverless would not pay now",
        "below_promote" if demote == NEVER => {
            "serverless would have saved what a switch costs, or a pod never pays"
        }
        "below_promote" if promote == NEVER => "a pod would not pay now",
        "promote" if by_money(promote) => "a pod would have saved what a switch costs",
        "pod_warm" => {
            return Some(format!(
                "a warm pod stays while the window holds {demote} requests or more"
            ));
        }
        "promote" => return Some(format!("the window holds {promote} requests or more")),
        "below_promote" => {
            return Some(format!("the window holds fewer than {promote} requests"));
        }
        "pod_booting" => "the pod is still booting",
        "no_capacity" => "nobody has capacity to sell",
        "budget" => "a budget or a ceiling says so",
        "unobserved" => "less than a whole window has been seen",
        "busy" => "work in flight is not interrupted",
        "hold" => "the last transition is too recent",
        "no_memory" => "its memory floor does not fit into the free GPU memory",
        "no_daemon" => "the Docker daemon cannot be reached",
        "backing_off" => "the last start failed and the next try is not due",
        _ => return None,
    };
    Some(words.to_owned())
}

fn traffic(decision: &Decision) -> String {
    let inputs = &decision.inputs;
    let (promote, demote) = thresholds(inputs);
    let window = window(inputs);
    let seen = if inputs.observed {
        ""
    } else {
        ", not yet seen in full"
    };
    let limits = match inputs.rate_decides() && !by_money(promote) {
        true => format!("; {promote} or more promote to pod, fewer than {demote} demote"),
        false => String::new(),
    };
    let widened = widened(decision).unwrap_or_default();
    format!(
        "In the last {window}{seen}: {} ({:.2} per second){limits}.{widened}",
        requests(inputs.count),
        inputs.rps,
    )
}

/// Why the window is longer than the one asked for.
fn widened(decision: &Decision) -> Option<String> {
    let asked = decision.costs.as_ref()?.times.window_s?;
    let asked = Duration::try_from_secs_f64(asked).ok()?;
    let longer = decision.inputs.window_s > asked.as_secs_f64() * 1.01;
    longer.then(|| {
        format!(
            " The window is widened from {}, so that it holds enough requests where both tiers cost the same.",
            about(asked)
        )
    })
}

/// What has to happen for another tier to be taken.
fn next_switch(name: &str, decision: &Decision) -> Option<String> {
    match (decision.reason.as_str(), decision.tier) {
        ("forced", _) => Some(format!(
            "Nothing else counts until `thermocline unforce {name}`."
        )),
        ("dedicated" | "no_serverless" | "no_pod", _) | (_, Tier::Dedicated) => {
            Some("The request rate changes nothing here.".to_owned())
        }
        (_, Tier::Pod) if decision.inputs.pod_pinned => {
            Some("It stays, whatever the rate: `min_instances` keeps a pod.".to_owned())
        }
        (_, Tier::Serverless | Tier::Pod) if !decision.inputs.rate_decides() => {
            Some("The request rate changes nothing here.".to_owned())
        }
        (_, Tier::Local) => Some("This changes when the GPU memory no longer holds it.".to_owned()),
        (_, on) => Some(by_rate_or_money(decision, on)),
    }
}

fn by_rate_or_money(decision: &Decision, on: Tier) -> String {
    let inputs = &decision.inputs;
    let regret = decision.by_regret();
    let gathers = regret.and_then(|it| money::next_switch(it, on));
    gathers.unwrap_or_else(|| match on {
        Tier::Pod if decision.is_held_to_objective() => {
            "Next switch: back to serverless once that would meet the objective at 0.7 of the rate too.".to_owned()
        }
        Tier::Pod => demotion(decision),
        _ if decision.break_even() == Some("never") && inputs.promote_count.is_infinite() => {
            "Next switch: none at these prices.".to_owned()
        }
        _ => promotion(inputs),
    })
}

fn promotion(inputs: &Inputs) -> String {
    let (promote, _) = thresholds(inputs);
    if promote == NEVER {
        return BY_REGRET.to_owned();
    }
    match promote.saturating_sub(inputs.count) {
        0 => format!("{} for a pod; the pod is {}.", asks(promote), inputs.pod),
        more => format!(
            "Next switch: {more} more within {} promote it to pod.",
            window(inputs)
        ),
    }
}

fn demotion(decision: &Decision) -> String {
    let inputs = &decision.inputs;
    let (promote, demote) = thresholds(inputs);
    if demote == 0 {
        return match (promote, decision.break_even()) {
            (NEVER | 0, _) => BY_REGRET.to_owned(),
            (_, Some("always")) => "Next switch: none, a pod costs nothing.".to_owned(),
            _ => "Next switch: none, the rate never falls below zero.".to_owned(),
        };
    }
    if let Some(fewer) = (inputs.count + 1)
        .checked_sub(demote)
        .filter(|fewer| *fewer > 0)
    {
        return format!(
            "Next switch: {fewer} fewer within {} demote it.",
            window(inputs)
        );
    }
    match blocked(inputs) {
        Some(by) => format!("{} for a demotion; it waits: {by}.", asks(demote)),
        None => format!("{} for a demotion.", asks(demote)),
    }
}

/// Who asks for a change of tier.
fn asks(threshold: u64) -> &'static str {
    match by_money(threshold) {
        true => "Its cost asks",
        false => "The rate asks",
    }
}

fn blocked(inputs: &Inputs) -> Option<String> {
    if !inputs.observed {
        return Some("less than a whole window has been seen".to_owned());
    }
    if inputs.in_flight > 0 {
        return Some(format!("{} in flight", requests(inputs.in_flight)));
    }
    let since = Duration::try_from_secs_f64(inputs.since_transition_s?.trunc()).ok()?;
    Some(format!("the last transition was {} ago", about(since)))
}

/// Reasons are the policy's words, or a sentence where the server has more to say.
fn refusal(alternative: &Alternative, inputs: &Inputs) -> String {
    let reason = alternative.reason.trim_end_matches('.');
    let why = words(reason, inputs).unwrap_or_else(|| reason.to_owned());
    format!("Not {}: {why}.", alternative.tier)
}

/// A threshold that no count reaches: it is not the rate that decides.
const NEVER: u64 = u64::MAX;
/// Whether `threshold` is none that a rate reaches or misses.
fn by_money(threshold: u64) -> bool {
    threshold == NEVER || threshold == 0
}

const BY_REGRET: &str = "Next switch: when the other tier would have saved what a switch costs.";

/// The thresholds in whole requests: `count >= x` and `count < x` say the same of `ceil(x)`.
fn thresholds(inputs: &Inputs) -> (u64, u64) {
    (
        inputs.promote_count.ceil() as u64,
        inputs.demote_count.ceil() as u64,
    )
}

fn window(inputs: &Inputs) -> String {
    Duration::try_from_secs_f64(inputs.window_s).map_or_else(|_| "window".to_owned(), about)
}

fn requests(count: u64) -> String {
    match count {
        1 => "1 request".to_owned(),
        _ => format!("{count} requests"),
    }
}
