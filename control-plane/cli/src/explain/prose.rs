//! The decision of now, in sentences.

use std::time::Duration;

use super::words::{rule, words};
use super::{money, next};
use crate::budget::{self, Held};
use crate::output::{about, counted, plain};
use crate::view::{Alternative, Decision, Inputs};

/// The decision in a few sentences, one thought per line.
pub(super) fn tell(name: &str, decision: &Decision) -> String {
    let inputs = &decision.inputs;
    let why = rule(&decision.reason, inputs);
    let tier = decision.tier;
    if decision.stopped {
        let lines = [
            format!(
                "{name} was stopped by a person: its requests get 503 until somebody wakes it."
            ),
            format!("Then it would be served by {tier}: {why}."),
            traffic(decision),
            format!("Decided at {}.", decision.at),
        ];
        return lines_of(&lines);
    }
    let mut lines = vec![served(name, decision)];
    lines.extend(decision.meanwhile.as_ref().map(|meanwhile| {
        let why = rule(&meanwhile.reason, inputs);
        format!(
            "Until {} can serve, {} does: {why}.",
            decision.tier, meanwhile.tier
        )
    }));
    lines.extend(
        decision
            .unserved
            .as_ref()
            .map(|why| format!("But nobody can serve it there: {why}.")),
    );
    let obstacles = decision.obstacles.iter();
    lines.extend(obstacles.map(|what| format!("In the way: {what}.")));
    lines.extend(idle_stop(decision));
    lines.push(traffic(decision));
    lines.extend(money::tell(decision));
    lines.extend(decision.budget.iter().flat_map(budget::sentences));
    lines.extend(next::switch(name, decision));
    lines.extend(next::idle_stop(decision));
    let refusals = decision.alternatives.iter();
    lines.extend(refusals.map(|tier| refusal(tier, inputs)));
    lines.push(format!("Decided at {}.", decision.at));
    lines_of(&lines)
}

/// Who serves it, and why.
fn served(name: &str, decision: &Decision) -> String {
    let tier = decision.tier;
    match held(decision) {
        Some(Held::Itself(why)) => {
            format!("{name} is served by nobody now, its requests get 503: {why} (rule `budget`).")
        }
        Some(Held::Other(why)) => format!("{name} is served by {tier}: {why} (rule `budget`)."),
        None => format!(
            "{name} is served by {tier}: {}.",
            rule(&decision.reason, &decision.inputs)
        ),
    }
}

/// The brake that made the decision, where a budget did.
pub(super) fn held(decision: &Decision) -> Option<Held> {
    let budget = decision
        .budget
        .as_ref()
        .filter(|_| decision.reason == "budget")?;
    budget::held(budget, decision.tier)
}

pub(super) fn lines_of(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| plain(line)).collect();
    lines.join("\n")
}

/// That nothing runs any more, where the rule that fired does not say so.
fn idle_stop(decision: &Decision) -> Option<String> {
    let stop = decision.idle_stop.as_ref()?;
    let (tier, at) = (stop.tier, &stop.at);
    Some(match decision.tier == tier {
        true => format!(
            "Nothing of it runs: its {tier} stopped at {at} for want of work. The next request starts it again."
        ),
        false => format!("Its {tier} stopped at {at}."),
    })
}

pub(super) fn traffic(decision: &Decision) -> String {
    let inputs = &decision.inputs;
    let seen = if inputs.observed {
        ""
    } else {
        ", not yet seen in full"
    };
    let limits = match inputs.rate_decides() && inputs.goes_by_count() {
        true => format!(
            "; {} or more promote to pod, {} demote",
            inputs.promotes_from(),
            demoting(inputs)
        ),
        false => String::new(),
    };
    format!(
        "In the last {}{seen}: {} ({:.2} per second){limits}.{}",
        window(inputs),
        counted(inputs.count, "request"),
        inputs.rps,
        widened(decision).unwrap_or_default()
    )
}

/// The counts that demote.
fn demoting(inputs: &Inputs) -> String {
    match inputs.demotes_below() {
        0 => "none".to_owned(),
        least => format!("fewer than {least}"),
    }
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

/// Reasons are the policy's words, or a sentence where the server has more to say.
fn refusal(alternative: &Alternative, inputs: &Inputs) -> String {
    let reason = alternative.reason.trim_end_matches('.');
    let why = words(reason, inputs).unwrap_or_else(|| reason.to_owned());
    format!("Not {}: {why}.", alternative.tier)
}

pub(super) fn window(inputs: &Inputs) -> String {
    Duration::try_from_secs_f64(inputs.window_s).map_or_else(|_| "window".to_owned(), about)
}
