//! `nvidia-smi`, for machines whose NVML cannot be loaded.

mod rows;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use thermocline_clock::Clock;
use thermocline_provider::{Gpu, GpuProbe, ProbeError};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// How long a reading may take; some drivers take seconds to wake up.
const READ_WITHIN: Duration = Duration::from_secs(10);
/// More than any machine's GPUs take to be told of.
const MOST_BYTES: u64 = 64 << 10;
/// What it exits with where there is no GPU.
const NO_DEVICE: i32 = 6;
const NAME: &str = "nvidia-smi";

/// Runs `nvidia-smi`, where this machine has it.
pub struct SmiProbe {
    program: OsString,
    clock: Clock,
}

impl SmiProbe {
    /// A probe that runs the `nvidia-smi` of the search path.
    pub fn new(clock: Clock) -> Self {
        SmiProbe {
            program: NAME.into(),
            clock,
        }
    }

    async fn run(&self) -> Result<Vec<Gpu>, ProbeError> {
        let mut command = Command::new(&self.program);
        command.args(rows::QUERY);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = match command.stdout(Stdio::piped()).kill_on_drop(true).spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error.to_string())),
        };
        let mut said = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            let reading = stdout.take(MOST_BYTES + 1).read_to_end(&mut said).await;
            reading.map_err(|error| failed(error.to_string()))?;
        }
        if said.len() as u64 > MOST_BYTES {
            return Err(failed("it says too much".to_owned()));
        }
        let status = child.wait().await;
        read(
            &String::from_utf8_lossy(&said),
            status.map_err(|error| failed(error.to_string()))?,
        )
    }
}

#[async_trait]
impl GpuProbe for SmiProbe {
    async fn read(&self) -> Result<Vec<Gpu>, ProbeError> {
        let deadline = self.clock.now() + READ_WITHIN;
        let ran = self.clock.timeout_at(deadline, self.run()).await;
        ran.unwrap_or(Err(ProbeError::Silent(NAME)))
    }
}

fn read(said: &str, status: ExitStatus) -> Result<Vec<Gpu>, ProbeError> {
    match status.code() {
        Some(0) => rows::gpus(said).map_err(failed),
        Some(NO_DEVICE) => Ok(Vec::new()),
        _ if said.trim().is_empty() => Err(failed(format!("it ended with {status}"))),
        _ => Err(failed(rows::first_line(said))),
    }
}

fn failed(detail: String) -> ProbeError {
    ProbeError::Failed {
        probe: NAME,
        detail,
    }
}

#[cfg(test)]
mod tests;
