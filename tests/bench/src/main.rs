//! The `thermocline-bench` binary; see the library for what it measures.

use std::process::ExitCode;

use clap::Parser;
use thermocline_bench::cli::Cli;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Cli::parse().execute().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("thermocline-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
