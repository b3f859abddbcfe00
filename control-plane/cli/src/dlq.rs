//! `dlq`: jobs of the shared fleet that nobody will run any more.

mod list;
mod replay;
mod show;
mod view;

use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use crate::args::{deployment_name, some_duration};
use crate::failure::Failure;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum DlqCommand {
    /// List dead letters, or groups of those that failed alike
    Ls(List),
    /// Show one: its failures, its request, the beginning of its payload
    Show(Letter),
    /// Run dead letters once more, at a limited rate; only what is transient may be
    Replay(Replay),
    /// Throw the payloads of dead letters away
    Discard(Letters),
}

/// Which dead letters are listed.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Of this class alone
    #[arg(long, value_enum)]
    class: Option<Class>,
    /// Of this deployment alone
    #[arg(long, value_name = "NAME", value_parser = deployment_name)]
    deployment: Option<String>,
    /// Of this group alone
    #[arg(long, value_parser = plain_word)]
    fingerprint: Option<String>,
    /// In this state
    #[arg(long, value_enum, default_value_t = State::Open)]
    state: State,
    /// A line for each group of those that failed alike
    #[arg(long)]
    groups: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Letter {
    /// The dead letter
    #[arg(value_parser = plain_word)]
    id: String,
}

#[derive(Debug, Args)]
pub(crate) struct Letters {
    /// The dead letters
    #[arg(required = true, value_name = "ID", value_parser = plain_word)]
    ids: Vec<String>,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["ids", "fingerprint"])))]
pub(crate) struct Replay {
    /// The dead letters
    #[arg(value_name = "ID", value_parser = plain_word)]
    ids: Vec<String>,
    /// A whole group of those that failed alike; returns at once
    #[arg(long, value_parser = plain_word)]
    fingerprint: Option<String>,
    /// Return at once
    #[arg(long)]
    no_wait: bool,
    /// How long to wait for all of them
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = some_duration)]
    timeout: Duration,
}

/// What a dead letter's failures say about trying it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Class {
    /// It may succeed another time
    Transient,
    /// It fails the same way every time
    Deterministic,
    /// It kills what runs it
    Poison,
}

/// What has become of a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    /// Nobody has decided yet
    Open,
    /// It runs once more, or waits for its turn
    Replaying,
    /// It has been run once more
    Replayed,
    /// It was thrown away
    Discarded,
    /// Any of them
    All,
}

/// Runs one of them.
///
/// # Errors
/// Refused, not found, a timeout, a fault when a replay ended badly; those of the calls.
pub(crate) async fn run(session: &Session, command: &DlqCommand) -> Result<(), Failure> {
    match command {
        DlqCommand::Ls(args) if args.groups => list::groups(session, args).await,
        DlqCommand::Ls(args) => list::letters(session, args).await,
        DlqCommand::Show(args) => show::run(session, &args.id).await,
        DlqCommand::Replay(args) => replay::run(session, args).await,
        DlqCommand::Discard(args) => discard(session, &args.ids).await,
    }
}

async fn discard(session: &Session, ids: &[String]) -> Result<(), Failure> {
    for id in ids {
        let path = ["fleet", "dead-letters", id];
        let answer = session.client.delete(&path).await?;
        session.show(&answer, || Ok(format!("{id} is discarded")))?;
    }
    Ok(())
}

/// Letters and digits. It becomes a part of a path, so nothing else may pass.
fn plain_word(text: &str) -> Result<String, String> {
    let allowed = text.chars().all(|c| c.is_ascii_alphanumeric());
    match allowed && (1..=64).contains(&text.len()) {
        true => Ok(text.to_owned()),
        false => Err("must be 1 to 64 letters and digits, as `dlq ls` shows them".to_owned()),
    }
}
