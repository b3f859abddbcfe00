//! The `thermocline` binary.

mod args;
mod budget;
mod client;
mod cost;
mod demo;
mod deploy;
mod dlq;
mod doctor;
mod document;
mod events;
mod explain;
mod failure;
mod force;
mod inspect;
mod lifecycle;
mod output;
mod problem;
mod provider;
mod secret;
mod serve;
mod session;
mod simulate;
mod upkeep;
mod view;
mod worker;

use std::process::ExitCode;

use clap::CommandFactory;

use args::{Cli, Command, ProviderCommand};
use failure::Failure;
use session::Session;

/// Gives memory back soon after a burst of waiting requests has gone; its
/// settings stand in `.cargo/config.toml`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = args::parse();
    // One provider of cryptography for every client in the process; a second
    // installation would only be refused.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let outcome = tokio::runtime::Runtime::new()
        .map_err(|_| Failure::fault("cannot start any threads"))
        .and_then(|runtime| runtime.block_on(run(cli)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure);
            failure.exit_code()
        }
    }
}

async fn run(cli: Cli) -> Result<(), Failure> {
    let format = cli.remote.output;
    let session = || Session::new(cli.remote);
    match cli.command {
        Command::Deploy(args) => deploy::run(&session()?, &args).await,
        Command::Ps => inspect::list(&session()?).await,
        Command::Describe(args) => inspect::describe(&session()?, &args.name).await,
        Command::Delete(args) => lifecycle::delete(&session()?, &args).await,
        Command::Explain(args) => explain::run(&session()?, &args).await,
        Command::Force(args) => force::force(&session()?, &args).await,
        Command::Unforce(args) => force::unforce(&session()?, &args.name).await,
        Command::Wake(args) => lifecycle::wake(&session()?, &args).await,
        Command::Sleep(args) => lifecycle::sleep(&session()?, &args).await,
        Command::Events(args) => events::run(&session()?, &args).await,
        Command::Cost(args) => cost::run(&session()?, &args).await,
        Command::Simulate(args) => simulate::run(format, &args, session).await,
        Command::Provider(ProviderCommand::Ls) => provider::list(&session()?).await,
        Command::Provider(ProviderCommand::Offers(args)) => {
            provider::offers(&session()?, &args).await
        }
        Command::Provider(ProviderCommand::Test(args)) => provider::test(format, &args).await,
        Command::Secret(command) => secret::run(&session()?, &command).await,
        Command::Dlq(command) => dlq::run(&session()?, &command).await,
        Command::Doctor => doctor::run(&session()?).await,
        Command::Completions(args) => completions(args.shell),
        Command::Serve(args) => serve::run(&args).await,
        Command::Worker(args) => worker::run(&args).await,
        Command::Demo(args) => demo::run(&args).await,
        Command::Migrate(args) => upkeep::migrate(&args).await,
        Command::Backup(args) => upkeep::backup(&args).await,
        Command::Sim => thermocline_sim::run_child()
            .await
            .map_err(|error| Failure::fault(error.to_string())),
    }
}

fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "thermocline", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
