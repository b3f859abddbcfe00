//! HAProxy: one process, 2 threads, connections shared between clients.
//!
//! Without `http-no-delay` it holds events back for tens of milliseconds, which
//! costs less than passing them on and is not what the others do.

use std::net::SocketAddr;
use std::path::Path;

use super::place::{Place, free_address};
use super::{HAPROXY, Target};
use crate::error::BenchError;
use crate::process::{Group, command};

/// Starts it in front of `origin`.
pub(super) fn start(
    program: &Path,
    origin: SocketAddr,
    place: &Place,
) -> Result<(Target, Group), BenchError> {
    let address = free_address()?;
    let file = place.write("haproxy.cfg", &configuration(address, origin))?;
    let mut command = command(program);
    command.arg("-db").arg("-f").arg(file);
    place.settle(&mut command, HAPROXY)?;
    let group = Group::start(command)?;
    let target = Target {
        name: HAPROXY.into(),
        address,
        prefix: String::new(),
        root: Some(group.pid()),
    };
    Ok((target, group))
}

fn configuration(listen: SocketAddr, origin: SocketAddr) -> String {
    format!(
        "global
  nbthread 2
  maxconn 8192
defaults
  mode http
  option http-keep-alive
  option http-no-delay
  http-reuse always
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  timeout http-keep-alive 600s
frontend front
  bind {listen} backlog 4096
  default_backend origin
backend origin
  server origin {origin} pool-purge-delay 600s
"
    )
}
