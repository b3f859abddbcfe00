//! The cloud's own process.

use std::ffi::OsString;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::rendezvous::{Endpoint, Rendezvous, own, random_hex};
use crate::serve::serve;
use crate::settings::Settings;

/// The variable that names the rendezvous file.
pub(crate) const STATE_FILE: &str = "THERMOCLINE_SIM_STATE_FILE";
/// The variable that holds the settings, as JSON.
pub(crate) const SETTINGS: &str = "THERMOCLINE_SIM_SETTINGS";

/// Runs the simulated cloud that [`crate::ensure_running`] started, until it
/// is unused, stopped or terminated.
///
/// # Errors
/// When it was not started so, or another process is the cloud already.
pub async fn run_child() -> io::Result<()> {
    let file = PathBuf::from(variable(STATE_FILE)?);
    let settings: Settings = serde_json::from_slice(variable(SETTINGS)?.as_encoded_bytes())?;
    let _owned_until_the_end = own(&file).await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let endpoint = Endpoint {
        url: format!("http://{}", listener.local_addr()?),
        token: random_hex::<32>()?,
    };
    let token = endpoint.token.clone();
    let mut terminate = signal(SignalKind::terminate())?;
    let pid = std::process::id();
    Rendezvous { endpoint, pid }.write(&file)?;
    let shutdown = async move {
        terminate.recv().await;
    };
    let served = serve(listener, token, settings, shutdown).await;
    let _gone_with_its_folder = std::fs::remove_file(&file);
    served
}

fn variable(name: &str) -> io::Result<OsString> {
    std::env::var_os(name).ok_or_else(|| {
        let missing = format!("{name} is not set: this program is started by Thermocline");
        io::Error::new(io::ErrorKind::InvalidInput, missing)
    })
}
