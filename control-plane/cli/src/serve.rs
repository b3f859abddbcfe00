//! `thermocline serve`: both planes in one process.

mod adapters;
mod broker;
mod configuration;
#[cfg(debug_assertions)]
mod fail_points;
mod layers;
mod log;
mod planes;
mod secrets;
mod signals;
mod source;
mod sources;
mod worker;

use std::path::{Path, PathBuf};

use thermocline_server::Config;

use crate::args::Serve;
use crate::failure::Failure;
use crate::output::note;
use layers::Document;

pub(crate) use adapters::{sim_of_worker, sim_state_file};
pub(crate) use broker::QUEUES;
pub(crate) use configuration::Configuration;
pub(crate) use log::log_to_stderr;
pub(crate) use planes::{Planes, start};
pub(crate) use signals::Signals;

/// The file that is read when none is named; it may be absent.
const DEFAULT_FILE: &str = "thermocline.toml";

/// Runs the server until a signal ends it.
pub(crate) async fn run(args: &Serve) -> Result<(), Failure> {
    let redaction = log_to_stderr("info");
    let config = read(args.config.as_deref(), |document| {
        sources::mistakes(document, |source| source.read())
    })?;
    refuse_open_doors(&config.server, args.insecure)?;
    // Before anything is announced: a signal then finds us ready for it.
    let signals = Signals::listen()?;
    let planes = start(config, Some(state_folder), redaction).await?;
    announce(&planes);
    signals::until_shutdown(planes, signals).await
}

/// Reads the server's configuration: defaults, then the file, then the environment.
pub(crate) fn read_config(file: Option<&Path>) -> Result<Config, Failure> {
    Ok(read(file, |_| Vec::new())?.server)
}

/// Reads the configuration; its mistakes, and what `more` finds, are told at once.
fn read(
    file: Option<&Path>,
    more: impl Fn(&Document) -> Vec<String>,
) -> Result<Configuration, Failure> {
    let path = file.map_or_else(|| PathBuf::from(DEFAULT_FILE), Path::to_path_buf);
    let document = layers::read(&path, file.is_some(), std::env::vars())?
        .with_implied_providers(&adapters::IMPLIED);
    let read = Configuration::read(&document.value);
    let errors = read.as_ref().err().cloned().unwrap_or_default();
    let mut lines: Vec<String> = errors
        .into_iter()
        .map(|error| format!("{}: {error}", document.origin(&error.field)))
        .collect();
    lines.extend(more(&document));
    match read {
        Ok(configuration) if lines.is_empty() => Ok(configuration),
        _ => Err(Failure::usage(lines)),
    }
}

/// An open request plane beyond loopback is refused unless a proxy checks.
fn refuse_open_doors(config: &Config, insecure: bool) -> Result<(), Failure> {
    if insecure || config.request_token || config.request_listen.ip().is_loopback() {
        return Ok(());
    }
    Err(Failure::mistake(
        "request.listen: auth = \"open\" is for loopback only; set request.auth = \"token\", \
         or --insecure where a proxy in front does the checking",
    ))
}

/// Where what belongs to a store but not into it is kept: beside it.
pub(crate) fn state_folder(config: &Config) -> PathBuf {
    let file = config
        .store_url
        .strip_prefix("sqlite://")
        .map(PathBuf::from);
    let parent = file.and_then(|file| file.parent().map(Path::to_path_buf));
    parent.unwrap_or_default()
}

fn announce(planes: &Planes) {
    if let Some(token) = &planes.fresh_token {
        note(&format!("admin token (shown once): {token}"));
    }
    let (request, admin) = (planes.request, planes.admin);
    note(&format!(
        "requests at http://{request}, admin at http://{admin}"
    ));
    note(&format!("console at http://{admin}/console/"));
}
