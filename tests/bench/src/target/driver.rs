//! The client as a process of its own.

use std::env;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::Target;
use crate::error::BenchError;
use crate::load::Tally;
use crate::process::command;
use crate::scenario::Scenario;

/// A load process that waits for slots; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Driver {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Driver {
    /// Starts one for `target`; answers may come `patience` after a slot's end.
    pub(crate) fn start(
        target: &Target,
        scenario: Scenario,
        patience: Duration,
    ) -> Result<Self, BenchError> {
        let mut child = spawn(target, scenario, patience)?;
        let input = child.stdin.take().ok_or(BenchError::LoadBroke)?;
        let output = child.stdout.take().ok_or(BenchError::LoadBroke)?;
        Ok(Driver {
            input,
            output: BufReader::new(output).lines(),
            _child: child,
        })
    }

    /// Runs one slot; zero is one request on each connection.
    pub(crate) async fn slot(&mut self, length: Duration) -> Result<Tally, BenchError> {
        let line = format!("{}\n", length.as_millis());
        self.input
            .write_all(line.as_bytes())
            .await
            .map_err(|_| BenchError::LoadBroke)?;
        let report = self
            .output
            .next_line()
            .await
            .ok()
            .flatten()
            .ok_or(BenchError::LoadBroke)?;
        serde_json::from_str(&report).map_err(|_| BenchError::LoadBroke)
    }
}

fn spawn(target: &Target, scenario: Scenario, patience: Duration) -> Result<Child, BenchError> {
    let this = env::current_exe().map_err(BenchError::machine("finding this program"))?;
    let mut command = Command::from(command(&this));
    command.arg("load").args([
        "--address",
        &target.address.to_string(),
        "--prefix",
        &target.prefix,
    ]);
    command.args(["--kind", &scenario.kind.to_string()]);
    command.args(["--connections", &scenario.connections.to_string()]);
    command.args(["--patience", &format!("{}ms", patience.as_millis())]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
        .spawn()
        .map_err(BenchError::machine("starting the load"))
}
