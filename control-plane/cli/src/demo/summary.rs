//! What the demo came to, printed when it ends.

use std::time::Duration;

use serde::Deserialize;
use thermocline_clock::Clock;
use thermocline_policy::Tier;

use super::tally::{Tallies, Tally};
use crate::client::{CallError, Client};
use crate::output::{counted, dollars, or_nothing, print, table};
use crate::view::{Decision, List};

/// How long the end may wait for the server's part of it.
const LIMIT: Duration = Duration::from_secs(2);

const COLUMNS: [&str; 9] = [
    "NAME",
    "REQUESTS",
    "WARM",
    "COLD",
    "FALLBACK",
    "FAILED",
    "TIER CHANGES",
    "SERVERLESS $",
    "POD $",
];

/// Prints it; says nothing where nothing was sent.
pub(crate) async fn tell(client: &Client, tallies: &Tallies) {
    let all = tallies.all();
    if all.is_empty() {
        return;
    }
    let clock = Clock::system();
    let paid = clock.timeout_at(clock.now() + LIMIT, paid(client)).await;
    let paid = paid.ok().and_then(Result::ok);
    let mut rows = Vec::new();
    for (name, tally) in &all {
        let changes = clock.timeout_at(clock.now() + LIMIT, changes(client, name));
        let mut row = row(name, *tally, changes.await.ok().and_then(Result::ok));
        row.extend([Tier::Serverless, Tier::Pod].map(|tier| {
            let usd = paid.as_ref().map(|paid| paid.of(name, tier));
            or_nothing(usd.map(dollars))
        }));
        rows.push(row);
    }
    let requests: u64 = all.iter().map(|(_, tally)| tally.requests()).sum();
    let table = table(&COLUMNS, rows);
    // Whoever closed our output does not want to read this either.
    let requests = counted(requests, "request");
    let _ = print(&format!("\nsummary: {requests}\n{table}\n"));
}

/// How often the deployment has changed its tier, as far back as a page goes.
async fn changes(client: &Client, name: &str) -> Result<usize, CallError> {
    let path = ["deployments", name, "decisions"];
    let document = client.get_where(&path, &[("limit", "500")]).await?;
    let list: List<Decision> = client.view(&document)?;
    // An idle stop is no change that anybody decided on.
    let made = |decision: &&Decision| !decision.refused && decision.reason != "idle";
    Ok(list.items.iter().filter(made).count())
}

/// The ledger.
#[derive(Debug, Deserialize)]
struct Paid {
    items: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Item {
    deployment: Option<String>,
    tier: Option<Tier>,
    usd: f64,
}

impl Paid {
    /// Dollars; 0 for what the ledger does not have.
    fn of(&self, name: &str, tier: Tier) -> f64 {
        let own =
            |item: &&Item| item.deployment.as_deref() == Some(name) && item.tier == Some(tier);
        self.items.iter().filter(own).map(|item| item.usd).sum()
    }
}

async fn paid(client: &Client) -> Result<Paid, CallError> {
    let document = client
        .get_where(&["costs"], &[("by", "deployment,tier")])
        .await?;
    client.view(&document)
}

fn row(name: &str, tally: Tally, changes: Option<usize>) -> Vec<String> {
    let counts = [
        tally.requests(),
        tally.warm,
        tally.cold,
        tally.fallback,
        tally.failed,
    ];
    let mut row = vec![name.to_owned()];
    row.extend(counts.map(|count| count.to_string()));
    row.push(changes.map_or_else(|| "-".to_owned(), |count| count.to_string()));
    row
}
