//! The part of the command line that says which targets there are.

use std::path::PathBuf;

use clap::Args;

use super::External;

/// Which proxies to measure and where they are.
#[derive(Debug, Args)]
pub(crate) struct Choice {
    /// The Thermocline binary.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "target/release/thermocline"
    )]
    pub(super) thermocline: PathBuf,
    /// The nginx binary.
    #[arg(long, value_name = "FILE", default_value = "nginx")]
    pub(super) nginx: PathBuf,
    /// The HAProxy binary.
    #[arg(long, value_name = "FILE", default_value = "haproxy")]
    pub(super) haproxy: PathBuf,
    /// Another proxy that runs already, as name=http://ADDRESS:PORT/PREFIX,pid=PID;
    /// it must forward to the address given with --origin.
    #[arg(long, value_name = "PEER")]
    pub(super) peer: Vec<External>,
    /// Where the backend listens; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(super) origin: std::net::SocketAddr,
    /// Measure only these: direct, nginx, haproxy, thermocline or a peer's name.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) targets: Vec<String>,
}

impl Choice {
    /// Whether the target of this name is wanted.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|wanted| wanted == name)
    }
}
