//! What is measured: the backend itself, and proxies in front of it.

mod choice;
mod driver;
mod external;
mod fleet;
mod haproxy;
mod nginx;
mod origin;
mod place;
mod thermocline;

use std::net::SocketAddr;

pub(crate) use choice::Choice;
pub(crate) use driver::Driver;
pub(crate) use external::External;
pub(crate) use fleet::Fleet;

/// One way to the backend.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    /// What goes before every path.
    pub(crate) prefix: String,
    /// The proxy's first process; the backend itself has none that counts.
    pub(crate) root: Option<u32>,
}

pub(crate) const DIRECT: &str = "direct";
pub(crate) const NGINX: &str = "nginx";
const HAPROXY: &str = "haproxy";
const THERMOCLINE: &str = "thermocline";
