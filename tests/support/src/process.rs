//! The binary as its users run it: `thermocline serve` in a process of its own.
//!
//! A [`Setup`] is a folder with a configuration; it may be started again and
//! again, and its simulated clouds outlive the servers. When the last of its
//! clones and servers is dropped, nothing of it runs any more.

mod binary;
mod folder;
mod lines;
mod proc;
mod ran;
mod running;
mod server;
mod truth;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::process::Command;

use crate::system::TOKEN;
use folder::Folder;

pub use binary::binary;
pub use lines::Lines;
pub use proc::{cpu_time, is_alive, open_files, peak_bytes, raise_open_files, resident_bytes};
pub use ran::Ran;
pub use running::Running;
pub use server::Server;

/// The name of the simulated cloud of [`Setup::with_cloud`].
pub const CLOUD: &str = "toy";

/// A folder, a configuration and an environment to run the binary in.
#[derive(Debug, Clone)]
pub struct Setup {
    folder: Arc<Folder>,
    config: String,
    env: Vec<(String, String)>,
    args: Vec<String>,
}

impl Setup {
    /// A server on free ports with a store in a new folder, without providers
    /// and with no Docker daemon at its socket.
    pub fn new() -> Self {
        let folder = Arc::new(Folder::new());
        let store = folder.path("store.db");
        let env = [
            ("THERMOCLINE_REQUEST__LISTEN", "127.0.0.1:0"),
            ("THERMOCLINE_ADMIN__LISTEN", "127.0.0.1:0"),
            (
                "THERMOCLINE_STORE__URL",
                &format!("sqlite://{}", store.display()),
            ),
            (
                "THERMOCLINE_LOCAL__DOCKER",
                &format!("unix://{}", folder.path("no.sock").display()),
            ),
            ("THERMOCLINE_ADMIN_TOKEN", TOKEN),
        ];
        Setup {
            folder,
            config: String::new(),
            env: env
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            args: Vec::new(),
        }
    }

    /// With the simulated cloud [`CLOUD`], of `keys` as in its section of the
    /// configuration.
    pub fn with_cloud(self, keys: &str) -> Self {
        self.config(&format!("[providers.{CLOUD}]\nkind = \"sim\"\n{keys}\n"))
    }

    /// With the Docker daemon at `endpoint`.
    pub fn with_docker(self, endpoint: &str) -> Self {
        self.env("THERMOCLINE_LOCAL__DOCKER", endpoint)
    }

    /// With more text in its configuration file.
    pub fn config(mut self, text: &str) -> Self {
        self.config.push_str(text);
        self
    }

    /// With a variable in its environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a further argument of `serve`.
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// A file of its folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path(name)
    }

    /// The store's URL.
    pub fn store_url(&self) -> String {
        format!("sqlite://{}", self.path("store.db").display())
    }

    /// Starts a server and waits until it takes work.
    ///
    /// # Panics
    /// When it ends instead, with what it said.
    pub async fn start(&self) -> Server {
        Server::start(self.clone()).await
    }

    /// Starts a server that may end at any moment; `None` where it ended before
    /// it took work.
    pub async fn start_if_it_lasts(&self) -> Option<Server> {
        Server::start_if_it_lasts(self.clone()).await
    }

    /// Runs a server that is expected to end by itself.
    ///
    /// # Panics
    /// When it does not within 30 s.
    pub async fn serve_to_end(&self) -> Ran {
        ran::run(self.serve_command()).await
    }

    /// Runs another verb in this folder and environment.
    ///
    /// # Panics
    /// When it does not end within 30 s.
    pub async fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.command();
        command.args(args);
        ran::run(command).await
    }

    /// Begins to run another verb in this folder and environment.
    pub fn spawn(&self, args: &[&str]) -> Running {
        let mut command = self.command();
        command.args(args);
        Running::spawn(self.clone(), command)
    }

    fn serve_command(&self) -> Command {
        let config = self.path("thermocline.toml");
        std::fs::write(&config, &self.config).expect("the folder can be written");
        let mut command = self.command();
        command.arg("serve").args(&self.args);
        command
    }

    fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command
            .current_dir(self.folder.path("."))
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env("THERMOCLINE_TOKEN", TOKEN)
            .kill_on_drop(true);
        command
    }
}

impl Default for Setup {
    fn default() -> Self {
        Setup::new()
    }
}
