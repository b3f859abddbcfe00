use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// A program with all that it starts. They end with this, and with the test's
/// process too, however that ends: the shell reads from it until it is gone.
pub(crate) struct Group(Child);

impl Group {
    /// Starts `program` with `environment`, its output in `log`.
    pub(crate) fn start(
        program: &str,
        environment: &[(&str, String)],
        log: &Path,
    ) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)?;
        let script = format!("{program} </dev/null & read _; kill -KILL 0");
        let child = Command::new("/bin/sh")
            .args(["-c", &script])
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()?;
        Ok(Group(child))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.0.id().cast_signed()) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
