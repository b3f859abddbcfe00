//! Budgets in words.

use thermocline_policy::Tier;

use crate::output::dollars;
use crate::view::{Brake, Budget};

/// What is spent and what is forbidden, in a few words.
pub(crate) fn short(budget: &Budget) -> String {
    let mut words = vec![spent(budget)];
    words.extend(forbidden(budget));
    words.join("; ")
}

/// The same in sentences.
pub(crate) fn sentences(budget: &Budget) -> Vec<String> {
    let ends = match budget.usd_per_day {
        Some(_) => format!(", and begins anew at {}", budget.resets_at),
        None => String::new(),
    };
    let mut lines = vec![format!("Budget: {}{ends}.", spent(budget))];
    lines.extend(forbidden(budget).map(|line| format!("{}.", capital(&line))));
    lines
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

fn forbidden(budget: &Budget) -> impl Iterator<Item = String> {
    let tiers = [
        (Tier::Serverless, &budget.serverless),
        (Tier::Pod, &budget.pod),
    ];
    tiers
        .into_iter()
        .filter_map(|(tier, brake)| sentence(tier, brake))
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
