//! The `thermocline` binary.

mod args;
mod client;
mod deploy;
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
mod session;
mod view;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Cli, Command, ProviderCommand};
use failure::Failure;
use session::Session;

fn main() -> ExitCode {
    let cli = Cli::parse();
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
        Command::Provider(ProviderCommand::Ls) => provider::list(&session()?).await,
        Command::Doctor => doctor::run(&session()?).await,
        Command::Completions(args) => completions(args.shell),
    }
}

fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "thermocline", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
