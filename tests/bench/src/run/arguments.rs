//! The command line of `run`.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use crate::cli::length;
use crate::error::BenchError;
use crate::scenario::Scenario;
use crate::target::{Choice, NGINX};

/// What to measure, how often, and where the result goes.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(super) choice: Choice,
    /// Rounds per scenario, each with one slot for every target [default: 8, quick: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pairs: Option<u32>,
    /// How long a slot is [default: 1s, quick: 500ms]
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    slot: Option<Duration>,
    /// Few scenarios and rounds: less than a minute.
    #[arg(long)]
    quick: bool,
    /// Only scenarios whose name begins so (post, upload-1m, sse-burst@64) or with
    /// so many connections (@512); may be given several times.
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,
    /// The target that ratios are taken to.
    #[arg(long, value_name = "NAME", default_value = NGINX)]
    pub(super) baseline: String,
    /// Also write the result here, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl RunArguments {
    pub(super) fn pairs(&self) -> u32 {
        self.pairs.unwrap_or(if self.quick { 3 } else { 8 })
    }

    pub(super) fn slot(&self) -> Duration {
        self.slot
            .unwrap_or(Duration::from_millis(if self.quick { 500 } else { 1000 }))
    }

    /// The scenarios after the filter; it is an error if none is left.
    pub(super) fn scenarios(&self) -> Result<Vec<Scenario>, BenchError> {
        let mut scenarios = if self.quick {
            Scenario::quick()
        } else {
            Scenario::all()
        };
        scenarios.retain(|scenario| scenario.matches(&self.scenario));
        if scenarios.is_empty() {
            Err(BenchError::Nothing("scenario"))
        } else {
            Ok(scenarios)
        }
    }

    /// Writes `document` if a file was asked for.
    pub(super) fn write_json(&self, document: &Value) -> Result<(), BenchError> {
        let Some(file) = &self.json else {
            return Ok(());
        };
        fs::write(file, format!("{document:#}\n")).map_err(BenchError::machine("writing the JSON"))
    }
}
