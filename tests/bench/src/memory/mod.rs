//! How much memory a proxy needs: for endless streams, and for many uploads at once.

mod measure;
mod report;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::error::BenchError;
use crate::kind::Kind;
use crate::scenario::Scenario;
use crate::target::{Choice, Fleet};
use measure::measure;
use report::Sample;

/// What to send through the targets.
#[derive(Debug, Args)]
pub(crate) struct MemoryArguments {
    #[command(flatten)]
    choice: Choice,
    /// GiB streamed up and then down, on one connection.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1024))]
    gib: u64,
    /// Connections that upload at the same time.
    #[arg(long, value_name = "N", default_value_t = 512)]
    connections: usize,
    /// MiB that each of them uploads.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1024))]
    mib: u64,
    /// Also write the result here, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl MemoryArguments {
    fn scenarios(&self) -> [Scenario; 3] {
        let stream = self.gib << 30;
        let single = |kind| Scenario {
            kind,
            connections: 1,
        };
        let crowd = Scenario {
            kind: Kind::Upload(self.mib << 20),
            connections: self.connections,
        };
        [
            single(Kind::Upload(stream)),
            single(Kind::Download(stream)),
            crowd,
        ]
    }
}

/// Sends one request per connection through each target and prints what it cost.
/// The proxies are started afresh for each scenario, so that none inherits a heap.
pub(crate) async fn memory(arguments: &MemoryArguments) -> Result<(), BenchError> {
    let mut results = Vec::new();
    for scenario in arguments.scenarios() {
        eprintln!("{scenario}");
        let samples = all(&arguments.choice, scenario).await?;
        println!("{}", report::table(scenario, &samples));
        results.push(json!({ "scenario": scenario.to_string(), "targets": samples }));
        let failures = samples.iter().map(Sample::failures).sum();
        if failures > 0 {
            return Err(BenchError::Failures(failures));
        }
    }
    let Some(file) = &arguments.json else {
        return Ok(());
    };
    std::fs::write(file, format!("{:#}\n", json!(results)))
        .map_err(BenchError::machine("writing the JSON"))
}

async fn all(choice: &Choice, scenario: Scenario) -> Result<Vec<Sample>, BenchError> {
    let fleet = Fleet::start(choice).await?;
    let mut samples = Vec::new();
    for target in &fleet.targets {
        if let Some(root) = target.root {
            samples.push(measure(target, root, scenario).await?);
        }
    }
    Ok(samples)
}
