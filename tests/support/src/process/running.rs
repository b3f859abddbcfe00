use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use super::{Lines, Setup};
use crate::watched::PATIENCE;

/// A run of the binary that goes on; it is killed when this value is dropped.
#[derive(Debug)]
pub struct Running {
    /// Its results.
    pub out: Lines,
    /// Its chatter.
    pub err: Lines,
    /// Its process.
    pub pid: u32,
    // Ends before the folder that it works in.
    child: Child,
    setup: Setup,
}

impl Running {
    pub(super) fn spawn(setup: Setup, mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        Running {
            out: Lines::of(child.stdout.take().expect("a pipe")),
            err: Lines::of(child.stderr.take().expect("a pipe")),
            pid: child.id().expect("it runs"),
            child,
            setup,
        }
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        // One that has just ended is as good as told.
        let _ = kill_process(pid.expect("a process"), Signal::TERM);
    }

    /// Ends it with SIGKILL.
    ///
    /// # Panics
    /// When it had ended before.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("it was running");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end within 30 s.
    pub async fn ended(&mut self) -> ExitStatus {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        ended.expect("the process ends").expect("a status")
    }

    /// Whether it runs no more.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_some()
    }

    /// What it runs in.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }
}
