//! `cost`: what was paid, and what would have been.

use clap::Args;
use serde::Deserialize;

use std::collections::BTreeSet;
use std::time::Duration;

use thermocline_wire::rfc3339;

use crate::failure::Failure;
use crate::output::{self, dollars, or_nothing, table};
use crate::session::Session;

/// Show what was paid, and what would have been
#[derive(Debug, Args)]
pub(crate) struct Cost {
    /// By what amounts are told apart: some of hour, deployment, tier, provider
    #[arg(long, value_name = "FIELDS", default_value = "deployment,tier")]
    by: String,
    /// Compare each deployment with what each tier alone would have cost, and with the best possible
    #[arg(long, conflicts_with = "by")]
    what_if: bool,
    /// Of how long, until now; whole hours
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = crate::args::some_duration)]
    since: Duration,
}

#[derive(Debug, Deserialize)]
struct Costs {
    from: String,
    total_usd: f64,
    idle_usd: f64,
    items: Vec<Item>,
    what_if: Vec<WhatIf>,
}

#[derive(Debug, Deserialize)]
struct Item {
    hour: Option<String>,
    deployment: Option<String>,
    tier: Option<String>,
    provider: Option<String>,
    hours: f64,
    usd: f64,
    idle_usd: f64,
}

#[derive(Debug, Deserialize)]
struct WhatIf {
    deployment: String,
    arrivals: u64,
    paid_usd: f64,
    serverless_usd: f64,
    pod_usd: f64,
    optimum_usd: f64,
}

/// Prints the ledger.
///
/// # Errors
/// Those of the call.
pub(crate) async fn run(session: &Session, args: &Cost) -> Result<(), Failure> {
    let since = i64::try_from(args.since.as_micros()).unwrap_or(i64::MAX);
    let from = rfc3339(session.clock.wall_micros().saturating_sub(since));
    let query = [("from", from.as_str()), ("by", args.by.as_str())];
    let document = session.client.get_where(&["costs"], &query).await?;
    let costs: Costs = session.client.view(&document)?;
    if costs.items.is_empty() && costs.what_if.is_empty() {
        output::note("nothing was paid in that time");
    } else if args.what_if && costs.what_if.is_empty() {
        output::note(
            "nothing can be compared: that takes a serverless and a pod tier, and a price of both",
        );
    }
    session.show(&document, || Ok(tell(&costs, args)))
}

fn tell(costs: &Costs, args: &Cost) -> String {
    if args.what_if {
        return otherwise(costs);
    }
    let fields: Vec<&str> = args.by.split(',').collect();
    let mut header: Vec<String> = fields.iter().map(|field| field.to_uppercase()).collect();
    header.extend(["HOURS", "USD", "IDLE"].map(str::to_owned));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let rows = costs.items.iter().map(|item| {
        let mut row: Vec<String> = fields.iter().map(|field| item.field(field)).collect();
        let idle = share(item.idle_usd, item.usd);
        row.extend([format!("{:.2}", item.hours), dollars(item.usd), idle]);
        row
    });
    format!(
        "{}\n\n${} since {}, {} of it for time without a request in hand.",
        table(&header, rows),
        dollars(costs.total_usd),
        costs.from,
        share(costs.idle_usd, costs.total_usd)
    )
}

/// `part` of `whole` in whole percent.
fn share(part: f64, whole: f64) -> String {
    or_nothing((whole > 0.0).then(|| format!("{:.0} %", part / whole * 100.0)))
}

impl Item {
    fn field(&self, field: &str) -> String {
        let value = match field {
            "hour" => &self.hour,
            "deployment" => &self.deployment,
            "tier" => &self.tier,
            _ => &self.provider,
        };
        or_nothing(value.as_deref())
    }
}

fn otherwise(costs: &Costs) -> String {
    const HEADER: [&str; 6] = [
        "DEPLOYMENT",
        "ARRIVALS",
        "PAID",
        "SERVERLESS ALONE",
        "POD ALONE",
        "OPTIMUM",
    ];
    let rows = costs.what_if.iter().map(|one| {
        let amounts = [
            one.paid_usd,
            one.serverless_usd,
            one.pod_usd,
            one.optimum_usd,
        ];
        let mut row = vec![one.deployment.clone(), one.arrivals.to_string()];
        row.extend(amounts.map(dollars));
        row
    });
    let table = table(&HEADER, rows);
    format!(
        "{table}\n\nSince {}, while both tiers had a price; money alone. The optimum is the cheapest course with hindsight, with one pod.{}",
        costs.from,
        not_compared(costs)
    )
}

/// What was paid for and stands in no comparison.
fn not_compared(costs: &Costs) -> String {
    let is_compared = |name: &&str| costs.what_if.iter().any(|one| one.deployment == **name);
    let paid = costs.items.iter();
    let paid = paid.filter_map(|item| item.deployment.as_deref());
    let others: BTreeSet<&str> = paid.filter(|name| !is_compared(name)).collect();
    match others.is_empty() {
        true => String::new(),
        false => {
            let names = Vec::from_iter(others).join(", ");
            format!(
                "\nNot compared, for want of a serverless and a pod tier, or of a price of both: {names}."
            )
        }
    }
}
