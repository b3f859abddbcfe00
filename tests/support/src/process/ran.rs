use std::process::Stdio;

use tokio::process::Command;

use crate::watched::PATIENCE;

/// What a run of the binary left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its exit code; -1 when a signal ended it.
    pub code: i32,
    /// Its results.
    pub out: String,
    /// Its chatter.
    pub err: String,
}

/// Runs `command` to its end.
pub(super) async fn run(mut command: Command) -> Ran {
    command.stdin(Stdio::null());
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = output.expect("it ends").expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}
