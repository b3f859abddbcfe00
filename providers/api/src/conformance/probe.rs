use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::Address;

/// How long one try may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The longest status line that is read, bytes.
const LONGEST_LINE: u64 = 1_024;

/// Tries an instance's address.
#[async_trait]
pub trait Probe: Send + Sync {
    /// The status that `GET path` is answered with.
    ///
    /// # Errors
    /// What went wrong, in words without the address.
    async fn status(&self, address: &Address, path: &str) -> Result<u16, String>;
}

/// HTTP/1.0 over plain TCP: enough for `http://` addresses, with no client library.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainHttp;

#[async_trait]
impl Probe for PlainHttp {
    async fn status(&self, address: &Address, path: &str) -> Result<u16, String> {
        let asked = tokio::time::timeout(LIMIT, ask(address, path)).await;
        asked.map_err(|_| "no answer in time".to_owned())?
    }
}

async fn ask(address: &Address, path: &str) -> Result<u16, String> {
    let (host, base) = split(&address.url)?;
    let socket = match host.contains(':') {
        true => host.to_owned(),
        false => format!("{host}:80"),
    };
    let mut head = format!("GET {base}{path} HTTP/1.0\r\nhost: {host}\r\n");
    for (name, value) in &address.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let line = exchange(&socket, &head).await;
    let line = line.map_err(|error| format!("it cannot be reached: {}", error.kind()))?;
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
    let status = status.and_then(|digits| digits.parse().ok());
    status.ok_or_else(|| "it does not speak HTTP".to_owned())
}

fn split(url: &str) -> Result<(&str, &str), String> {
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| "its address is not plain HTTP".to_owned())?;
    let (host, base) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    Ok((host, base.trim_end_matches('/')))
}

async fn exchange(socket: &str, head: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(socket).await?;
    stream.write_all(head.as_bytes()).await?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST_LINE))
        .read_line(&mut line)
        .await?;
    Ok(line)
}
