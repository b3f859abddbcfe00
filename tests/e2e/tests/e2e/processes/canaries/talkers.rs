//! Programs that repeat what they are told.

use std::path::Path;
use std::process::Stdio;

use thermocline_support::process::{Server, Setup, binary};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

pub(super) const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/e2e/processes/canaries/repeater.py"
);

/// One that was not started by the server.
pub(super) struct Talker {
    /// Where it listens, of a plugin.
    pub(super) url: String,
    _process: Child,
}

impl Talker {
    /// A plugin that asks for `token`.
    pub(super) async fn plugin(token: &str) -> Self {
        let mut command = Command::new("python3");
        command.arg(PROGRAM).arg("127.0.0.1:0");
        Talker::spawn(command.env("THERMOCLINE_PLUGIN_TOKEN", token)).await
    }

    /// A Docker daemon at `socket`.
    pub(super) async fn docker(socket: &Path) -> Self {
        let mut command = Command::new("python3");
        Talker::spawn(command.arg(PROGRAM).arg(socket)).await
    }

    async fn spawn(command: &mut Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().unwrap();
        Talker {
            url: line.rsplit(' ').next().unwrap_or_default().to_owned(),
            _process: process,
        }
    }
}

/// `secret set stdin` with `value` on its standard input; what it printed.
pub(super) async fn pipe(setup: &Setup, server: &Server, token: &str, value: &str) -> String {
    let mut command = Command::new(binary());
    command
        .args(["secret", "set", "stdin"])
        .current_dir(setup.path("."))
        .env(
            "THERMOCLINE_SERVER",
            format!("http://{}", server.admin.address),
        )
        .env("THERMOCLINE_TOKEN", token)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    stdin
        .write_all(format!("{value}\n").as_bytes())
        .await
        .unwrap();
    drop(stdin);
    let output = process.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let both = [output.stdout, output.stderr].concat();
    String::from_utf8(both).unwrap()
}
