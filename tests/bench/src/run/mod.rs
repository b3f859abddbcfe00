//! The comparison: rounds of slots, one target after the other.

mod arguments;
mod document;
mod round;
mod series;
mod summary;

use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use arguments::RunArguments;
use round::Contest;
use summary::Summary;

use crate::error::BenchError;
use crate::scenario::Scenario;
use crate::target::Fleet;

/// Runs every scenario asked for, printing each table as it is done.
/// Fails in the end if any request failed.
pub(crate) async fn run(arguments: &RunArguments) -> Result<(), BenchError> {
    let scenarios = arguments.scenarios()?;
    let fleet = Fleet::start(&arguments.choice).await?;
    let mut results = Vec::new();
    for (at, scenario) in scenarios.iter().enumerate() {
        eprintln!("{scenario} ({} of {})", at + 1, scenarios.len());
        let summary = contest(&fleet, *scenario, arguments).await?;
        println!("{}", summary.table());
        results.push(summary);
    }
    arguments.write_json(&document(arguments, &results))?;
    match results.iter().map(Summary::failures).sum() {
        0 => Ok(()),
        failures => Err(BenchError::Failures(failures)),
    }
}

async fn contest(
    fleet: &Fleet,
    scenario: Scenario,
    arguments: &RunArguments,
) -> Result<Summary, BenchError> {
    let mut contest = Contest::start(&fleet.targets, scenario)?;
    contest.warm_up(arguments.slot()).await?;
    for _ in 0..arguments.pairs() {
        contest.round(arguments.slot()).await?;
    }
    Ok(Summary::new(
        scenario,
        contest.finish(),
        &arguments.baseline,
    ))
}

fn document(arguments: &RunArguments, results: &[Summary]) -> Value {
    json!({
        "pairs": arguments.pairs(),
        "slot_ms": millis(arguments.slot()),
        "baseline": arguments.baseline,
        "scenarios": results.iter().map(Summary::json).collect::<Vec<_>>(),
    })
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
