//! What the demo came to, printed when it ends.

use std::time::Duration;

use thermocline_clock::Clock;

use super::tally::{Tallies, Tally};
use crate::client::{CallError, Client};
use crate::output::{print, table};
use crate::view::{Decision, List};

/// How long the end may wait for the server's part of it.
const LIMIT: Duration = Duration::from_secs(2);

const COLUMNS: [&str; 7] = [
    "NAME",
    "REQUESTS",
    "WARM",
    "COLD",
    "FALLBACK",
    "FAILED",
    "TIER CHANGES",
];

/// Prints it; says nothing where nothing was sent.
pub(crate) async fn tell(client: &Client, tallies: &Tallies) {
    let all = tallies.all();
    if all.is_empty() {
        return;
    }
    let clock = Clock::system();
    let mut rows = Vec::new();
    for (name, tally) in &all {
        let changes = clock.timeout_at(clock.now() + LIMIT, changes(client, name));
        rows.push(row(name, *tally, changes.await.ok().and_then(Result::ok)));
    }
    let requests: u64 = all.iter().map(|(_, tally)| tally.requests()).sum();
    let table = table(&COLUMNS, rows);
    // Whoever closed our output does not want to read this either.
    let _ = print(&format!("\nsummary: {requests} requests\n{table}\n"));
}

/// How often the deployment has changed its tier, as far back as a page goes.
async fn changes(client: &Client, name: &str) -> Result<usize, CallError> {
    let path = ["deployments", name, "decisions"];
    let document = client.get_where(&path, &[("limit", "500")]).await?;
    let list: List<Decision> = client.view(&document)?;
    let made = list.items.iter().filter(|decision| !decision.refused);
    Ok(made.count())
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
