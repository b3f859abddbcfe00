//! The table that is printed every few seconds.

use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_policy::Moment;

use super::story::stamp;
use super::tally::Tallies;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{dollars, or_nothing, print, table};
use crate::view::{Deployment, List};

/// How often it is printed.
const EVERY: Duration = Duration::from_secs(10);

const COLUMNS: [&str; 9] = [
    "NAME", "STATE", "TIER", "RPS", "WARM", "COLD", "FALLBACK", "FAILED", "$/H",
];

/// Prints the table again and again.
///
/// # Errors
/// Those of the call, and when stdout cannot be written.
pub(crate) async fn show(
    client: &Client,
    clock: &Clock,
    began: Moment,
    tallies: &Tallies,
) -> Result<(), Failure> {
    loop {
        clock.sleep(EVERY).await;
        let document = client.get_all(&["deployments"]).await?;
        let list: List<Deployment> = client.view(&document)?;
        let rows = list.items.iter().map(|deployment| row(deployment, tallies));
        let table = table(&COLUMNS, rows);
        print(&format!("\n{}\n{table}\n", stamp(clock, began)))?;
    }
}

fn row(deployment: &Deployment, tallies: &Tallies) -> Vec<String> {
    let status = &deployment.status;
    let tally = tallies.of(&deployment.name);
    vec![
        deployment.name.clone(),
        status.state.clone(),
        or_nothing(status.tier),
        format!("{:.2}", status.rps),
        tally.warm.to_string(),
        tally.cold.to_string(),
        tally.fallback.to_string(),
        tally.failed.to_string(),
        or_nothing(status.usd_per_hour().map(dollars)),
    ]
}
