//! A plugin that is started by a command.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use rustix::process::{Pid, Signal, kill_process_group};
use thermocline_clock::Clock;
use tokio::process::{Child, ChildStdin, Command};

use crate::handshake::announced;
use crate::output::{self, lines};
use crate::supervised::{Launch, Launched};

/// How long a process may take to say where it listens.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(30);
/// The variable that holds the token of a started plugin.
const TOKEN: &str = "THERMOCLINE_PLUGIN_TOKEN";
/// Our own variables begin so; a plugin gets none of them but its token.
const OURS: &str = "THERMOCLINE_";

/// The command that starts a plugin.
#[derive(Debug, Clone)]
pub struct CommandLine {
    provider: String,
    program: String,
    arguments: Vec<String>,
}

impl CommandLine {
    /// The command `words`, whose plugin is `provider` in the log; `None` when
    /// there is no word.
    pub fn new(provider: &str, words: &[String]) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        Some(CommandLine {
            provider: provider.to_owned(),
            program: program.clone(),
            arguments: arguments.to_vec(),
        })
    }

    fn command(&self, token: &str) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(OURS.as_bytes()) {
                command.env_remove(name);
            }
        }
        command
            .args(&self.arguments)
            .env(TOKEN, token)
            // It stays open as long as we live: its end tells a plugin to end.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

#[async_trait]
impl Launch for CommandLine {
    async fn launch(&self) -> io::Result<Launched> {
        let token = random_token()?;
        let mut child = self.command(&token).spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let process = Process {
            _stdin: child.stdin.take(),
            child,
            group,
        };
        let missing = || io::Error::other("its output cannot be read");
        let (mut stdout, stderr) = (
            lines(stdout.ok_or_else(missing)?),
            stderr.ok_or_else(missing)?,
        );
        let (name, secret) = (self.provider.clone(), token.clone());
        let clock = Clock::system();
        tokio::spawn(output::log(
            lines(stderr),
            name.clone(),
            secret.clone(),
            clock.clone(),
        ));
        let first = tokio::time::timeout(HANDSHAKE_LIMIT, output::next(&mut stdout)).await;
        let first =
            first.map_err(|_| io::Error::other("it did not say in time where it listens"))?;
        let first =
            first.ok_or_else(|| io::Error::other("it ended before it said where it listens"))?;
        let url = announced(&first).map_err(io::Error::other)?;
        tokio::spawn(output::log(stdout, name, secret, clock));
        Ok(Launched {
            url,
            token: Some(token),
            begins_anew: false, // it is the cloud behind it that remembers
            end: process.ended().boxed(),
        })
    }
}

/// A running process with everything that it started; killed when dropped.
struct Process {
    child: Child,
    group: Option<Pid>,
    _stdin: Option<ChildStdin>,
}

impl Process {
    /// Why it ended, once it has.
    async fn ended(mut self) -> String {
        match self.child.wait().await {
            Ok(status) => status.to_string(),
            Err(_) => "nothing is known of it".to_owned(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            let _gone_is_fine = kill_process_group(group, Signal::KILL);
        }
    }
}

/// 256 random bits in hexadecimal.
fn random_token() -> io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
