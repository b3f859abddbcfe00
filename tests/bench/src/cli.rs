//! The command line.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, stdin};
use tokio::signal::unix::{SignalKind, signal};

use crate::error::BenchError;
use crate::kind::Kind;
use crate::load::Load;
use crate::memory::{MemoryArguments, memory};
use crate::origin::Origin;
use crate::run::{RunArguments, run};

/// Measures Thermocline against nginx, HAProxy and no proxy at all.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare the targets, slot by slot.
    Run(RunArguments),
    /// Measure memory: long streams, and many uploads at once.
    Memory(MemoryArguments),
    /// Serve the backend that the targets forward to.
    Origin(OriginArguments),
    /// Load one target: each line on stdin is a slot's length in ms, answered by a line of JSON.
    Load(LoadArguments),
}

#[derive(Debug, Args)]
struct OriginArguments {
    /// Where to listen; the address is printed.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// End when stdin does, so as not to outlive who started this.
    #[arg(long)]
    exit_with_stdin: bool,
}

#[derive(Debug, Args)]
struct LoadArguments {
    /// Who is loaded.
    #[arg(long)]
    address: SocketAddr,
    /// What goes before every path.
    #[arg(long, default_value = "")]
    prefix: String,
    /// post-N, upload-N, download-N, sse-burst or sse-paced; N may end in k, m or g.
    #[arg(long)]
    kind: Kind,
    /// How many connections there are.
    #[arg(long, default_value_t = 1)]
    connections: usize,
    /// How long after a slot's end the last answers may take.
    #[arg(long, value_parser = length, default_value = "30s")]
    patience: Duration,
}

impl Cli {
    /// Does what was asked; what it started has ended when this returns.
    pub async fn execute(self) -> Result<(), BenchError> {
        match self.command {
            Command::Origin(arguments) => origin(&arguments).await,
            Command::Load(arguments) => load(&arguments).await,
            Command::Run(arguments) => until_stopped(run(&arguments)).await,
            Command::Memory(arguments) => until_stopped(memory(&arguments)).await,
        }
    }
}

/// Dropping the work is what ends its processes.
async fn until_stopped(
    work: impl Future<Output = Result<(), BenchError>>,
) -> Result<(), BenchError> {
    let listen = |kind| signal(kind).map_err(BenchError::machine("listening for signals"));
    let (mut interrupt, mut terminate) = (
        listen(SignalKind::interrupt())?,
        listen(SignalKind::terminate())?,
    );
    tokio::select! {
        result = work => result,
        _ = interrupt.recv() => Err(BenchError::Interrupted),
        _ = terminate.recv() => Err(BenchError::Interrupted),
    }
}

async fn origin(arguments: &OriginArguments) -> Result<(), BenchError> {
    let origin = Origin::bind(arguments.listen).await?;
    println!("{}", origin.address()?);
    tokio::select! {
        result = origin.serve() => result,
        () = end_of_stdin(), if arguments.exit_with_stdin => std::process::exit(0),
    }
}

async fn end_of_stdin() {
    let mut input = stdin();
    while input
        .read(&mut [0; 64])
        .await
        .is_ok_and(|length| length > 0)
    {}
}

async fn load(arguments: &LoadArguments) -> Result<(), BenchError> {
    let LoadArguments {
        address,
        prefix,
        kind,
        connections,
        patience,
    } = arguments;
    let mut load = Load::new(*address, prefix, *kind, *connections).patient(*patience);
    let mut lines = BufReader::new(stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let millis = line
            .trim()
            .parse()
            .map_err(|_| BenchError::Nothing("slot"))?;
        let tally = load.slot(Duration::from_millis(millis)).await;
        println!("{}", serde_json::json!(tally));
    }
    Ok(())
}

/// Reads `2s` or `500ms`; a bare number is refused.
pub(crate) fn length(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(digits), _) => (digits, 1),
        (None, Some(digits)) => (digits, 1000),
        (None, None) => return Err(format!("{text} has no unit: 2s or 500ms")),
    };
    let number: u32 = digits.parse().map_err(|_| format!("{text} is no length"))?;
    Ok(Duration::from_millis(u64::from(number) * unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units() {
        assert_eq!(length("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(length("2s"), Ok(Duration::from_secs(2)));
        assert!(length("5").is_err() && length("s").is_err() && length("-1s").is_err());
    }

    #[test]
    fn the_command_line_is_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
