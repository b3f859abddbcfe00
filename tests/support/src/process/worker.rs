use std::net::SocketAddr;
use std::time::Instant;

use super::{Running, Setup};
use crate::system::{Admin, breathe};
use crate::watched::PATIENCE;

impl Setup {
    /// Starts a worker of the shared fleet in this folder and environment, and
    /// waits until it takes jobs, by its own `/readyz`.
    ///
    /// # Panics
    /// When it does not within 30 s, with what it said.
    pub async fn worker(&self, name: &str, runtime: &str, more: &[&str]) -> Running {
        let args = ["worker", "--name", name, "--runtime", runtime];
        let health = ["--health", "127.0.0.1:0"];
        let worker = self.spawn(&[&args[..], &health, more].concat());
        let health = worker.err.first(health_at).await;
        let health = health.unwrap_or_else(|| panic!("no worker:\n{}", worker.err.text()));
        let (health, began) = (Admin::new(health), now());
        while health.try_get("/readyz").await.is_none_or(|it| it != 200) {
            assert!(began.elapsed() < PATIENCE, "{}", worker.err.text());
            breathe().await;
        }
        worker
    }
}

/// The address in `worker NAME started; its health at http://ADDRESS`.
fn health_at(line: &str) -> Option<SocketAddr> {
    let (_, address) = line.split_once("its health at http://")?;
    address.parse().ok()
}

#[allow(clippy::disallowed_methods)] // bounds a wait in real time
fn now() -> Instant {
    Instant::now()
}
