//! `thermocline worker`: the agent of a GPU node.

mod config;
mod health;
mod node;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use thermocline_broker::{Broker, Limits, RabbitMq, RabbitMqAddress};
use thermocline_clock::Clock;
use thermocline_policy::fleet::{Mib, Shape};
use thermocline_policy::parse_size;
use tokio_util::sync::CancellationToken;

use crate::args::deployment_name;
use crate::failure::Failure;
use crate::output::note;
use crate::serve::{QUEUES, Signals, log_to_stderr};

pub(crate) use config::{WorkerConfig, WorkerRuntime, read};
pub(crate) use node::{Node, start};

/// Pulls jobs of the shared fleet and runs them here
#[derive(Debug, Args)]
pub(crate) struct Worker {
    /// Its name, of its own in the installation
    #[arg(long, env = "THERMOCLINE_WORKER_NAME", value_parser = deployment_name)]
    name: String,
    /// The broker that the server's [broker] url names: amqp://user:password@host/vhost
    #[arg(
        long,
        value_name = "URL",
        env = "THERMOCLINE_BROKER__URL",
        hide_env_values = true
    )]
    broker: String,
    /// A file with the worker's token; else it is read from THERMOCLINE_WORKER_TOKEN
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A gateway that it may call; each that a job names when absent
    #[arg(long = "gateway", value_name = "URL")]
    gateways: Vec<String>,
    /// What executes models: docker, sim, or the URL of a KServe v2 server
    #[arg(long, default_value = "docker", value_parser = WorkerRuntime::parse)]
    runtime: WorkerRuntime,
    /// The Docker daemon
    #[arg(
        long,
        value_name = "ENDPOINT",
        default_value = "unix:///var/run/docker.sock"
    )]
    docker: String,
    /// Jobs that it runs at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = crate::args::whole(1..=10_000))]
    permits: u32,
    /// Memory for models; once for each GPU
    #[arg(long, value_name = "SIZE", required = true, value_parser = parse_size)]
    memory: Vec<u64>,
    /// Which work it is for
    #[arg(long, default_value = "gpu", value_parser = shapes())]
    shape: Shape,
    /// Where its health is asked
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8083")]
    health: SocketAddr,
}

const TOKEN: &str = "THERMOCLINE_WORKER_TOKEN";

/// Pulls until a signal, then ends what it has; a second signal ends it at once.
///
/// # Errors
/// What keeps it from starting.
pub(crate) async fn run(args: &Worker) -> Result<(), Failure> {
    let redaction = log_to_stderr("info");
    // Not by clap, which would repeat what it cannot read.
    let address = RabbitMqAddress::parse(&args.broker)
        .map_err(|error| Failure::mistake(format!("--broker: {error}")))?;
    redaction.hide(address.password());
    let token = token(args.token_file.as_deref())?;
    redaction.hide(&token);
    let mut signals = Signals::listen()?;
    let clock = Clock::system();
    let config = told(args);
    let broker = RabbitMq::start(address, QUEUES, Limits::default(), clock.clone());
    let broker: Arc<dyn Broker> = Arc::new(broker);
    let drain = CancellationToken::new();
    let mut worker = start(Node {
        config: &config,
        docker: &args.docker,
        folder: Path::new(""),
        broker,
        token: &token,
        gateways: &args.gateways,
        clock: &clock,
        drain: &drain,
        keep_models: false,
    })
    .await?;
    let health = health::serve(args.health, worker.state(), &clock)?;
    note(&format!(
        "worker {} started; its health at http://{health}",
        args.name
    ));
    tokio::select! {
        () = signals.next() => {}
        () = worker.ended() => return Err(Failure::fault("the worker ended by itself")),
    }
    worker.drain();
    tokio::select! {
        () = worker.ended() => Ok(()),
        () = signals.next() => {
            tracing::warn!("exiting at once");
            std::process::exit(1);
        }
    }
}

fn told(args: &Worker) -> WorkerConfig {
    WorkerConfig {
        name: args.name.clone(),
        runtime: args.runtime.clone(),
        permits: args.permits,
        memory_mib: args
            .memory
            .iter()
            .map(|bytes| Mib::within(*bytes).0)
            .collect(),
        shape: args.shape,
    }
}

fn shapes() -> impl TypedValueParser<Value = Shape> {
    PossibleValuesParser::new(["gpu", "cpu"]).map(|name| match &*name {
        "cpu" => Shape::Cpu,
        _ => Shape::Gpu,
    })
}

fn token(file: Option<&Path>) -> Result<String, Failure> {
    let found = match file {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|_| Failure::mistake("--token-file: the file cannot be read"))?,
        None => std::env::var(TOKEN).unwrap_or_default(),
    };
    match found.trim() {
        "" => Err(Failure::mistake(format!(
            "a worker needs its token: {TOKEN}, or --token-file"
        ))),
        token => Ok(token.to_owned()),
    }
}
