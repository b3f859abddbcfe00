//! A folder and free ports for the proxies of one run.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::error::BenchError;

/// Where configurations and logs go; removed when dropped.
#[derive(Debug)]
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Result<Self, BenchError> {
        let folder = tempfile::Builder::new()
            .prefix("thermocline-bench-")
            .tempdir();
        folder
            .map(Place)
            .map_err(BenchError::machine("making a folder"))
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and says where it is.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, BenchError> {
        let file = self.path().join(name);
        fs::write(&file, text).map_err(BenchError::machine("writing a configuration"))?;
        Ok(file)
    }

    /// Sends what `command` writes to `NAME.log`, and runs it in the folder.
    pub(crate) fn settle(&self, command: &mut Command, name: &str) -> Result<(), BenchError> {
        let log = File::create(self.log_file(name)).map_err(BenchError::machine("making a log"))?;
        let second = log
            .try_clone()
            .map_err(BenchError::machine("making a log"))?;
        command.current_dir(self.path()).stdout(log).stderr(second);
        Ok(())
    }

    /// The last lines of `NAME.log`, beginning with a line break.
    pub(crate) fn log(&self, name: &str) -> String {
        let text = fs::read_to_string(self.log_file(name)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(10)..];
        last.iter().map(|line| format!("\n  {line}")).collect()
    }

    fn log_file(&self, name: &str) -> PathBuf {
        self.path().join(format!("{name}.log"))
    }
}

/// An address that nobody listens on; taken by whoever is first.
pub(crate) fn free_address() -> Result<SocketAddr, BenchError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map_err(BenchError::machine("looking for a free port"))
}
