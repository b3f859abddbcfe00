//! Finding the cloud's process, or starting it.

use std::io;
use std::path::{Path, absolute};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};

use crate::child::{SETTINGS, STATE_FILE};
use crate::client;
use crate::rendezvous::{Endpoint, Rendezvous, lock_start};
use crate::settings::Settings;

/// How long a new process may take to answer, and how often to look.
const START_LIMIT: Duration = Duration::from_secs(15);
const START_LOOK: Duration = Duration::from_millis(20);

/// The simulated cloud of `state_file`, with `settings`.
///
/// Where none answers, `program` with the arguments `subcommand` is started; it
/// has to call [`crate::run_child`]. It belongs to nobody: neither the end of
/// this process nor a signal to its group ends it.
///
/// # Errors
/// When the file's folder cannot be written, or the process cannot be started,
/// ends, or does not answer within 15 s.
pub async fn ensure_running(
    program: &Path,
    subcommand: &[&str],
    state_file: &Path,
    settings: &Settings,
) -> io::Result<Endpoint> {
    let state_file = absolute(state_file)?;
    let _one_at_a_time = lock_start(&state_file).await?;
    if let Some(found) = Rendezvous::read(&state_file)
        && client::answers(&found.endpoint).await
    {
        client::configure(&found.endpoint, settings).await?;
        return Ok(found.endpoint);
    }
    let mut child = command(program, subcommand, &state_file, settings)?.spawn()?;
    let started = tokio::time::timeout(START_LIMIT, announced(&mut child, &state_file)).await;
    started.unwrap_or_else(|elapsed| {
        child.start_kill()?;
        Err(elapsed.into())
    })
}

/// Ends the simulated cloud of `state_file` with all its instances; false when
/// none is running.
///
/// # Errors
/// When it is running and does not obey.
pub async fn stop(state_file: &Path) -> io::Result<bool> {
    let state_file = absolute(state_file)?;
    let _not_while_starting = lock_start(&state_file).await?;
    match Rendezvous::read(&state_file) {
        Some(found) if client::answers(&found.endpoint).await => {
            client::stop(&found.endpoint).await?;
            Ok(true)
        }
        Some(_) | None => Ok(false),
    }
}

fn command(
    program: &Path,
    subcommand: &[&str],
    state_file: &Path,
    settings: &Settings,
) -> io::Result<Command> {
    let mut command = Command::new(absolute(program)?);
    command
        .args(subcommand)
        .env_clear() // it outlives us and needs none of our secrets
        .env(STATE_FILE, state_file)
        .env(SETTINGS, serde_json::to_string(settings)?)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    Ok(command)
}

/// Waits until `child` has said in `state_file` where it is.
async fn announced(child: &mut Child, state_file: &Path) -> io::Result<Endpoint> {
    let mut looks = tokio::time::interval(START_LOOK);
    loop {
        looks.tick().await;
        if let Some(status) = child.try_wait()? {
            let ended = format!("the simulated cloud ended at once, with {status}");
            return Err(io::Error::other(ended));
        }
        match Rendezvous::read(state_file) {
            Some(found) if Some(found.pid) == child.id() => return Ok(found.endpoint),
            Some(_) | None => {}
        }
    }
}
