//! The simulated cloud as a program of its own; started by `ensure_running`.

use std::process::ExitCode;

use clap::Parser;

/// A cloud that costs nothing, on this machine alone. Thermocline starts it by
/// itself for each provider of the kind `sim`, and tells it all that it must know
/// in its environment: there is nothing to start it by hand for.
#[derive(Debug, Parser)]
#[command(name = "thermocline-sim", version)]
struct Arguments {}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments {} = Arguments::parse();
    match thermocline_sim::run_child().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("thermocline-sim: {error}");
            ExitCode::FAILURE
        }
    }
}
