//! Budgets in words.

use thermocline_policy::Tier;

use crate::output::dollars;
use crate::view::{Brake, Budget};

/// What is spent and what is forbidden, in a few words.
pub(crate) fn short(budget: &Budget) -> String {
    let mut words = vec![spent(budget)];
    words.extend(forbidden(budget).map(|(what, _)| what));
    words.join("; ")
}

/// The same in sentences.
pub(crate) fn sentences(budget: &Budget) -> Vec<String> {
    let ends = match budget.usd_per_day {
        Some(_) => format!(", and begins anew at {}", budget.resets_at),
        None => String::new(),
    };
    let mut lines = vec![format!("Budget: {}{ends}.", spent(budget))];
    lines.extend(forbidden(budget).map(|(what, until)| lasting(&what, until)));
    lines
}

fn lasting(what: &str, until: Option<&str>) -> String {
    let what = capital(what);
    match until {
        Some(until) => format!("{what}. That lasts until {until}."),
        None => format!("{what}."),
    }
}

fn spent(budget: &Budget) -> String {
    let spent = dollars(budget.spent_today_usd);
    let of = match budget.usd_per_day {
        Some(limit) => format!("${spent} of ${} a day spent", dollars(limit)),
        None => format!("${spent} spent today"),
    };
    let committed = dollars(budget.committed_usd_per_hour);
    format!("{of}, pods commit to ${committed} an hour")
}

/// What is forbidden, and until when that lasts.
fn forbidden(budget: &Budget) -> impl Iterator<Item = (String, Option<&str>)> {
    let tiers = [
        (Tier::Serverless, &budget.serverless),
        (Tier::Pod, &budget.pod),
    ];
    tiers
        .into_iter()
        .filter_map(|(tier, brake)| Some((sentence(tier, brake)?, brake.until.as_deref())))
}

/// What keeps a decision for `tier` from being another, or from serving at all.
pub(crate) enum Held {
    /// Nobody is served by the tier itself.
    Itself(String),
    /// It serves in place of the other paid tier.
    Other(String),
}

/// What holds a decision for `tier` that a budget made.
pub(crate) fn held(budget: &Budget, tier: Tier) -> Option<Held> {
    let (own, other) = match tier {
        Tier::Pod => ((tier, &budget.pod), (Tier::Serverless, &budget.serverless)),
        _ => ((tier, &budget.serverless), (Tier::Pod, &budget.pod)),
    };
    // A pod that is there stays where no other may be started.
    let serves = match own.1.brake.as_str() {
        "stop" => false,
        "no_start" => other.1.brake != "off",
        _ => true,
    };
    match serves {
        true => sentence(other.0, other.1).map(Held::Other),
        false => sentence(own.0, own.1).map(Held::Itself),
    }
}

fn sentence(tier: Tier, brake: &Brake) -> Option<String> {
    let what = match brake.brake.as_str() {
        "no_start" => format!("no {tier} is started"),
        "stop" => format!("{tier} is stopped"),
        _ => return None,
    };
    Some(match &brake.why {
        Some(why) => format!("{what}: {why}"),
        None => what,
    })
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    first.chain(rest).collect()
}
