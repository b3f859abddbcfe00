//! The command line.

mod values;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use reqwest::Url;
use thermocline_policy::{Tier, parse_size};

use crate::output::Format;
use crate::worker::Worker;

pub(crate) use values::{deployment_name, some_duration, whole};
use values::{duration, lifetime, loopback, port, server, speed, tiers};

/// Sends each request of a model deployment to the cheapest acceptable tier.
#[derive(Debug, Parser)]
#[command(name = "thermocline", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) remote: Remote,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Reads the command line; ends the process where it cannot be read.
pub(crate) fn parse() -> Cli {
    let command = without_empty_variables(with_any_values(Cli::command()));
    let matches = command.get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Whatever follows a flag is its value: one that begins with a dash, as a
/// negative number, is refused as this flag's and by its name.
fn with_any_values(command: clap::Command) -> clap::Command {
    let takes = |arg: &Arg| !arg.is_positional() && arg.get_action().takes_values();
    command
        .mut_args(|arg| match takes(&arg) {
            true => arg.allow_hyphen_values(true),
            false => arg,
        })
        .mut_subcommands(with_any_values)
}

/// A variable that is empty counts as unset.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |arg: &Arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        value.is_some_and(|value| value.is_empty())
    };
    command
        .mut_args(|arg| match is_empty(&arg) {
            true => arg.env(None),
            false => arg,
        })
        .mut_subcommands(without_empty_variables)
}

/// Whom to ask and how to show the answer.
#[derive(Debug, Args)]
pub(crate) struct Remote {
    /// The server's admin plane
    #[arg(long, global = true, value_name = "URL", env = "THERMOCLINE_SERVER",
          default_value = "http://127.0.0.1:8081", value_parser = server)]
    pub(crate) server: Url,
    /// The access token
    #[arg(long, global = true, env = "THERMOCLINE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// How results are written
    #[arg(short, long, global = true, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server: request plane, admin plane, reconciler
    Serve(Serve),
    /// Run models on this node: pull jobs of the shared fleet, load what they need
    Worker(Box<Worker>),
    /// Show it at work: a simulated cloud, traffic, and every change of tier
    Demo(Demo),
    /// Create or replace the deployments of the files, all or none
    Deploy(Deploy),
    /// List deployments with what they do now
    Ps,
    /// Show one deployment: specification, status, instances, last decisions
    Describe(Named),
    /// Delete a deployment and everything that runs for it
    Delete(Awaited),
    /// Say why a deployment is served by the tier that it is served by
    Explain(Explain),
    /// Put a deployment on a tier, whatever the policy says
    Force(Force),
    /// Give a deployment back to the policy
    Unforce(Named),
    /// Warm a deployment up
    Wake(Awaited),
    /// Stop a deployment after the work in hand, until it is woken
    Sleep(Awaited),
    /// Print what has happened
    Events(Events),
    /// Show what was paid, and what would have been
    Cost(crate::cost::Cost),
    /// Replay arrivals through policies and compare what they would have cost
    Simulate(Box<crate::simulate::Simulate>),
    /// Look at the providers
    #[command(subcommand)]
    Provider(ProviderCommand),
    /// Keep what deployments use and nobody reads back
    #[command(subcommand)]
    Secret(crate::secret::SecretCommand),
    /// Look at jobs of the shared fleet that failed for good, and run them once more
    #[command(subcommand)]
    Dlq(crate::dlq::DlqCommand),
    /// Check that the server is there, lets us in, and is well
    Doctor,
    /// Write a completion script for a shell
    Completions(Completions),
    /// Bring the store's tables up to this version
    Migrate(Configured),
    /// Copy the store into a new file while the server runs
    Backup(Backup),
    /// The process of a simulated cloud
    #[command(hide = true)]
    Sim,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The configuration; thermocline.toml where there is one
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Serve an open request plane beyond loopback: a proxy in front does the checking
    #[arg(long)]
    pub(crate) insecure: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Time runs so many times faster, 0.1 to 10
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed)]
    pub(crate) speed: f64,
    /// The traffic; the same seed, the same requests
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Ends by itself after so long; at ctrl-c when absent
    #[arg(long = "for", value_name = "DURATION", value_parser = some_duration)]
    pub(crate) duration: Option<Duration>,
    /// Where the request plane listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = loopback)]
    pub(crate) request_listen: SocketAddr,
    /// Where the admin plane listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081", value_parser = loopback)]
    pub(crate) admin_listen: SocketAddr,
}

#[derive(Debug, Args)]
pub(crate) struct Configured {
    /// The configuration; thermocline.toml where there is one
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The file to write; it must not exist
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) configured: Configured,
}

#[derive(Debug, Args)]
pub(crate) struct Deploy {
    /// Specifications, YAML or JSON; `-` reads YAML from stdin
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Show what would change and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The deployment
    #[arg(value_parser = deployment_name)]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Awaited {
    /// The deployment
    #[arg(value_parser = deployment_name)]
    pub(crate) name: String,
    /// Return at once
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// How long to wait
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The deployment
    #[arg(value_parser = deployment_name)]
    pub(crate) name: String,
    /// A decision of the past instead of the one now
    #[arg(long, value_name = "ID")]
    pub(crate) decision: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Force {
    /// The deployment
    #[arg(value_parser = deployment_name)]
    pub(crate) name: String,
    /// The tier
    #[arg(long, value_parser = tiers())]
    pub(crate) tier: Tier,
    /// For how long; until `unforce` when absent
    #[arg(long = "for", value_name = "DURATION", value_parser = some_duration)]
    pub(crate) duration: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Go on with what happens from now on
    #[arg(short, long)]
    pub(crate) follow: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProviderCommand {
    /// List the providers with their health
    Ls,
    /// Show what a provider would sell now, and for how much
    Offers(Offers),
    /// Hold an adapter to every clause of the plugin protocol
    Test(Box<ProviderTest>),
}

#[derive(Debug, Args)]
pub(crate) struct Offers {
    /// The provider
    #[arg(value_parser = deployment_name)]
    pub(crate) name: String,
    /// The tier; pod and serverless when absent
    #[arg(long, value_parser = tiers())]
    pub(crate) tier: Option<Tier>,
    /// The least GPU memory, as 24GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "0B")]
    pub(crate) vram: u64,
    /// How many GPUs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) gpus: u32,
}

/// What it starts costs what the adapter's provider charges; it is deleted again.
#[derive(Debug, Args)]
pub(crate) struct ProviderTest {
    /// Where the adapter listens
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// The environment variable that holds its token
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) token_env: Option<String>,
    /// The tier under trial; each that the adapter has when absent
    #[arg(long, value_parser = tiers())]
    pub(crate) tier: Option<Tier>,
    /// The image to start
    #[arg(long, default_value = "traefik/whoami")]
    pub(crate) image: String,
    /// The port that it listens on
    #[arg(long, default_value_t = 80, value_parser = port)]
    pub(crate) port: u16,
    /// The path that says whether it is ready
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub(crate) ready_path: String,
    /// How many GPUs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) gpus: u32,
    /// How long all of it may take; a cloud whose instances boot slowly needs more
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = some_duration)]
    pub(crate) timeout: Duration,
    /// How long an instance may take to become ready
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = some_duration)]
    pub(crate) ready_within: Duration,
    /// The lifetime of what is to end by itself, whole seconds
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = lifetime)]
    pub(crate) lifetime: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        with_any_values(Cli::command()).debug_assert();
    }
}
