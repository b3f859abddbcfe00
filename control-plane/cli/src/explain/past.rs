//! A decision of the past, in sentences.

use thermocline_policy::Tier;

use super::prose::{lines_of, traffic};
use super::{money, words};
use crate::view::Decision;

/// What was decided, or refused, and by which numbers; one thought per line.
pub(super) fn tell(name: &str, decision: &Decision) -> String {
    let mut lines = vec![first(name, decision), traffic(decision)];
    lines.extend(money::tell(decision));
    lines.push(format!("Decided at {}.", decision.at));
    lines_of(&lines)
}

fn first(name: &str, decision: &Decision) -> String {
    let to = decision.tier;
    let why = || words::rule(&decision.reason, &decision.inputs);
    match decision.current {
        Some(from) if decision.refused => {
            format!(
                "{name} stayed on {from} and was not moved to {to}: {}.",
                why()
            )
        }
        None if decision.refused => format!("{name} was not moved to {to}: {}.", why()),
        Some(Tier::Pod) if decision.reason == "idle" => {
            format!(
                "The pod of {name} stopped for want of work, and {to} would serve (rule `idle`)."
            )
        }
        Some(from) => format!(
            "{name} moved from {from} to {to}: {}.",
            words::change(decision)
        ),
        None => format!("{name} moved to {to}: {}.", words::change(decision)),
    }
}
