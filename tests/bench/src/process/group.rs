//! Child processes that do not outlive the run.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::error::BenchError;

/// A process and its descendants; dropping it ends them all.
#[derive(Debug)]
pub(crate) struct Group(Child);

/// How long a group may take after SIGTERM, in steps, before it is killed.
const STEPS: u32 = 150;
const STEP: Duration = Duration::from_millis(20);

impl Group {
    /// Starts `command` as the leader of a new process group.
    pub(crate) fn start(mut command: Command) -> Result<Self, BenchError> {
        let child = command.stdin(Stdio::null()).process_group(0).spawn();
        child
            .map(Group)
            .map_err(BenchError::machine("starting a process"))
    }

    /// The leader's process id.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Whether the leader has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)))
    }

    /// There is no `kill` in the standard library, and every system has a shell.
    fn signal(&self, name: &str) {
        let script = format!("kill -s {name} -- -{} 2>/dev/null", self.pid());
        let _ = Command::new("sh")
            .args(["-c", &script])
            .stderr(Stdio::null())
            .status();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal("TERM");
        let ended = (0..STEPS).any(|_| {
            let ended = self.has_ended();
            if !ended {
                thread::sleep(STEP);
            }
            ended
        });
        self.signal("KILL");
        if !ended {
            let _ = self.0.wait();
        }
    }
}

/// A command that may open as many files as the system allows: 512 connections
/// on both sides of four proxies are more than the usual 1024.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", r#"ulimit -S -n "$(ulimit -H -n)"; exec "$0" "$@""#])
        .arg(program);
    command
}

/// Where a program is: at a path, in `PATH`, or where distributions put daemons.
pub(crate) fn find(program: &Path) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let folders = env::split_paths(&path).chain(usual);
    let named = folders.map(|folder| folder.join(program));
    let candidates = if program.components().count() > 1 {
        vec![program.to_owned()]
    } else {
        named.collect()
    };
    candidates
        .into_iter()
        .find(|file| file.is_file())
        .and_then(|file| file.canonicalize().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};

    #[test]
    fn a_grandchild_ends_with_its_group() {
        let mut command = command(Path::new("sh"));
        command
            .args(["-c", "sleep 1000 & echo $!; wait"])
            .stdout(Stdio::piped());
        let mut group = Group::start(command).unwrap();
        let mut output = BufReader::new(group.0.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        drop(group);
        // The pipe closes when the last process that holds it has ended.
        assert_eq!(output.read_line(&mut line).unwrap(), 0);
    }

    #[test]
    fn programs_are_found_by_name_or_path() {
        let shell = find(Path::new("sh")).unwrap();
        assert_eq!(find(&shell), Some(shell));
        assert_eq!(find(Path::new("no-such-program")), None);
        assert_eq!(find(Path::new("./no-such-program")), None);
    }
}
