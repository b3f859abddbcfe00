//! The backend as a process of its own.

use std::env;
use std::net::SocketAddr;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::error::BenchError;
use crate::process::command;

/// A running backend; it ends when this is dropped, or when this process ends.
#[derive(Debug)]
pub(super) struct OriginProcess {
    pub(super) address: SocketAddr,
    _child: Child,
}

impl OriginProcess {
    /// Starts it and waits until it says where it listens.
    pub(super) async fn start(listen: SocketAddr) -> Result<Self, BenchError> {
        let mut child = spawn(listen)?;
        let output = child.stdout.take().ok_or(BenchError::Nothing("backend"))?;
        let line = BufReader::new(output).lines().next_line().await;
        let line = line.map_err(BenchError::machine("reading from the backend"))?;
        let address = line
            .and_then(|text| text.parse().ok())
            .ok_or(BenchError::Nothing("backend"))?;
        Ok(OriginProcess {
            address,
            _child: child,
        })
    }
}

fn spawn(listen: SocketAddr) -> Result<Child, BenchError> {
    let this = env::current_exe().map_err(BenchError::machine("finding this program"))?;
    let mut command = Command::from(command(&this));
    command.args([
        "origin",
        "--exit-with-stdin",
        "--listen",
        &listen.to_string(),
    ]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
        .spawn()
        .map_err(BenchError::machine("starting the backend"))
}
