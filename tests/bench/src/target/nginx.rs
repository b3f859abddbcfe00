//! nginx: 2 workers, kept-alive upstreams, nothing buffered, no access log.

use std::net::SocketAddr;
use std::path::Path;

use super::place::{Place, free_address};
use super::{NGINX, Target};
use crate::error::BenchError;
use crate::process::{Group, command};

/// Starts it in front of `origin`.
pub(super) fn start(
    program: &Path,
    origin: SocketAddr,
    place: &Place,
) -> Result<(Target, Group), BenchError> {
    let address = free_address()?;
    let file = place.write("nginx.conf", &configuration(place.path(), address, origin))?;
    let mut command = command(program);
    command
        .arg("-c")
        .arg(file)
        .arg("-e")
        .arg(place.path().join("nginx.log"))
        .arg("-p")
        .arg(place.path());
    place.settle(&mut command, NGINX)?;
    let group = Group::start(command)?;
    let target = Target {
        name: NGINX.into(),
        address,
        prefix: String::new(),
        root: Some(group.pid()),
    };
    Ok((target, group))
}

/// `user root` keeps the workers able to use the folder; without root it is ignored.
fn configuration(folder: &Path, listen: SocketAddr, origin: SocketAddr) -> String {
    let folder = folder.display();
    format!(
        "daemon off;
user root;
worker_processes 2;
worker_rlimit_nofile 16384;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log error;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_max_body_size 0;
  keepalive_timeout 600s;
  keepalive_requests 1000000000;
  upstream origin {{
    server {origin};
    keepalive 1024;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
  }}
  server {{
    listen {listen} backlog=4096;
    location / {{
      proxy_pass http://origin;
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_read_timeout 600s;
    }}
  }}
}}
"
    )
}
