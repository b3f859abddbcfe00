use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::access::Account;

/// How a fleet's gateway side is run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where workers are answered.
    pub listen: SocketAddr,
    /// How workers reach that, `http://` or `https://` with host and port;
    /// as it listens when `None`.
    pub advertise: Option<String>,
    /// Whether to listen before the first deployment needs it.
    pub listen_at_once: bool,
    /// The largest request body, bytes.
    pub max_payload: u64,
    /// The most requests that are parked at a time, where the limit of open
    /// files allows as many.
    pub max_parked: usize,
    /// The most bytes of payload that are held at a time.
    pub max_parked_bytes: u64,
    /// Whether workers are started where they are wanted.
    pub pool: bool,
    /// How long a dead letter's payload is kept until somebody archives it.
    pub keep_dead: Duration,
    /// Who may pull what.
    pub accounts: Vec<Account>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8082)),
            advertise: None,
            listen_at_once: false,
            max_payload: 64 << 20,
            max_parked: 10_000,
            max_parked_bytes: 1 << 30,
            pool: false,
            keep_dead: Duration::from_secs(60),
            accounts: Vec::new(),
        }
    }
}
