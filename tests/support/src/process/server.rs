use std::net::SocketAddr;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::{Ran, Running, Setup, cpu_time, open_files, peak_bytes, resident_bytes};
use crate::client::RawClient;
use crate::system::{Admin, breathe};
use crate::watched::PATIENCE;

/// A server in a process of its own; it is killed when this value is dropped.
#[derive(Debug)]
pub struct Server {
    /// Where the request plane listens.
    pub request: SocketAddr,
    /// The admin plane's client.
    pub admin: Admin,
    process: Running,
}

impl Server {
    pub(super) async fn start(setup: Setup) -> Server {
        let command = setup.serve_command();
        let process = Running::spawn(setup, command);
        let announced = process.err.first(announcement).await;
        let (request, admin) = announced
            .unwrap_or_else(|| panic!("the server does not start:\n{}", process.err.text()));
        let admin = Admin::new(admin);
        let server = Server {
            request,
            admin,
            process,
        };
        server.ready().await;
        server
    }

    /// Starts one that may end at any moment; `None` where it ended before it
    /// took work.
    pub(super) async fn start_if_it_lasts(setup: Setup) -> Option<Server> {
        let command = setup.serve_command();
        let process = Running::spawn(setup, command);
        let (request, admin) = process.err.first(announcement).await?;
        let admin = Admin::new(admin);
        let mut server = Server {
            request,
            admin,
            process,
        };
        while server
            .admin
            .try_get("/readyz")
            .await
            .is_none_or(|status| status != 200)
        {
            if server.process.has_ended() {
                return None;
            }
            breathe().await;
        }
        Some(server)
    }

    async fn ready(&self) {
        let began = now();
        while self.admin.open_get("/readyz").await != 200 {
            assert!(began.elapsed() < PATIENCE, "{}", self.stderr());
            breathe().await;
        }
    }

    /// A connection to the request plane.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn client(&self) -> RawClient {
        let client = RawClient::connect(self.request).await;
        client.expect("the request plane accepts")
    }

    /// Runs a verb against this server.
    pub async fn run(&self, args: &[&str]) -> Ran {
        let url = format!("http://{}", self.admin.address);
        let setup = self.setup().clone().env("THERMOCLINE_SERVER", &url);
        setup.run(args).await
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        self.process.terminate();
    }

    /// Ends it with SIGKILL; what is left can be started again.
    pub async fn kill(mut self) -> Setup {
        self.process.kill().await;
        self.setup().clone()
    }

    /// Whether it runs no more.
    pub fn has_ended(&mut self) -> bool {
        self.process.has_ended()
    }

    /// Waits for its end; see [`Running::ended`].
    pub async fn ended(&mut self) -> ExitStatus {
        self.process.ended().await
    }

    /// Its memory in RAM, bytes.
    pub fn resident_bytes(&self) -> u64 {
        resident_bytes(self.process.pid)
    }

    /// The most memory in RAM that it ever had, bytes.
    pub fn peak_bytes(&self) -> u64 {
        peak_bytes(self.process.pid)
    }

    /// How many files it has open.
    pub fn open_files(&self) -> usize {
        open_files(self.process.pid)
    }

    /// The CPU time it has used.
    pub fn cpu_time(&self) -> Duration {
        cpu_time(self.process.pid)
    }

    /// Everything it has said on stderr.
    pub fn stderr(&self) -> String {
        self.process.err.text()
    }

    /// What it runs in.
    pub fn setup(&self) -> &Setup {
        self.process.setup()
    }
}

/// The addresses in `requests at http://A, admin at http://B`.
fn announcement(line: &str) -> Option<(SocketAddr, SocketAddr)> {
    let rest = line.strip_prefix("requests at http://")?;
    let (request, admin) = rest.split_once(", admin at http://")?;
    Some((request.parse().ok()?, admin.parse().ok()?))
}

#[allow(clippy::disallowed_methods)] // bounds a wait in real time
fn now() -> Instant {
    Instant::now()
}
