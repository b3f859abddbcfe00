//! `secret`: what deployments use and nobody reads back.

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::json;

use crate::args::{Named, deployment_name};
use crate::failure::Failure;
use crate::output::{self, or_nothing, table};
use crate::session::Session;
use crate::view::List;

#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// Set a secret, from stdin unless told otherwise
    Set(SetSecret),
    /// List the secrets, without their values
    Ls,
    /// Remove a secret that no deployment uses
    Rm(Named),
}

/// The value is never an argument: those are seen by everybody on a machine.
#[derive(Debug, Args)]
pub(crate) struct SetSecret {
    /// The secret
    #[arg(value_parser = deployment_name)]
    pub(crate) name: String,
    /// Take the value of an environment variable
    #[arg(long, value_name = "VARIABLE", conflicts_with = "from_file")]
    pub(crate) from_env: Option<String>,
    /// Take the content of a file
    #[arg(long, value_name = "FILE")]
    pub(crate) from_file: Option<PathBuf>,
}

const COLUMNS: [&str; 4] = ["NAME", "CREATED", "UPDATED", "USED BY"];

/// A secret as the server shows it.
#[derive(Debug, Deserialize)]
struct Secret {
    name: String,
    created_at: String,
    updated_at: String,
    used_by: Vec<String>,
}

/// Runs one of them.
///
/// # Errors
/// Usage, for a value that cannot be read; those of the calls.
pub(crate) async fn run(session: &Session, command: &SecretCommand) -> Result<(), Failure> {
    match command {
        SecretCommand::Set(args) => set(session, args).await,
        SecretCommand::Ls => list(session).await,
        SecretCommand::Rm(args) => remove(session, &args.name).await,
    }
}

async fn set(session: &Session, args: &SetSecret) -> Result<(), Failure> {
    let body = json!({ "value": value(args)? });
    let path = ["secrets", &args.name];
    let answer = session.client.put(&path, &body).await?;
    session.show(&answer, || Ok(format!("{} is set", args.name)))
}

async fn list(session: &Session) -> Result<(), Failure> {
    let document = session.client.get_all(&["secrets"]).await?;
    let list: List<Secret> = session.client.view(&document)?;
    if list.items.is_empty() {
        output::note("no secrets; `thermocline secret set NAME` makes one");
    }
    session.show(&document, || {
        Ok(match list.items.is_empty() {
            true => String::new(),
            false => table(&COLUMNS, list.items.iter().map(row)),
        })
    })
}

fn row(secret: &Secret) -> Vec<String> {
    let users = Some(secret.used_by.join(", ")).filter(|users| !users.is_empty());
    vec![
        secret.name.clone(),
        secret.created_at.clone(),
        secret.updated_at.clone(),
        or_nothing(users),
    ]
}

async fn remove(session: &Session, name: &str) -> Result<(), Failure> {
    let answer = session.client.delete(&["secrets", name]).await?;
    session.show(&answer, || Ok(format!("{name} is removed")))
}

/// The value, without the line end that an editor or `echo` leaves behind it.
fn value(args: &SetSecret) -> Result<String, Failure> {
    let bytes = match (&args.from_env, &args.from_file) {
        (Some(variable), _) => from_env(variable)?,
        (None, Some(file)) => from_file(file)?,
        (None, None) => from_stdin()?,
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::mistake("the value of a secret must be text in UTF-8"))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    match text.is_empty() {
        true => Err(Failure::mistake(
            "the value of a secret must not be empty; give it on stdin, \
             or name where it is with --from-env or --from-file",
        )),
        false => Ok(text.to_owned()),
    }
}

fn from_env(variable: &str) -> Result<Vec<u8>, Failure> {
    use std::os::unix::ffi::OsStringExt;
    let value = std::env::var_os(variable);
    let value =
        value.ok_or_else(|| Failure::mistake(format!("--from-env: {variable} is not set")))?;
    Ok(value.into_vec())
}

fn from_file(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| {
        Failure::mistake(format!(
            "--from-file: {} cannot be read: {}",
            file.display(),
            error.kind()
        ))
    })
}

fn from_stdin() -> Result<Vec<u8>, Failure> {
    if io::stdin().is_terminal() {
        output::note("type the value, then ctrl-d; it is seen while you type");
    }
    let mut value = Vec::new();
    io::stdin()
        .read_to_end(&mut value)
        .map_err(|_| Failure::fault("stdin cannot be read"))?;
    Ok(value)
}
