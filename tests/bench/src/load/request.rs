//! The bytes that ask for one kind of answer.

use std::net::SocketAddr;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::kind::{EVENTS, Kind, PACE_MICROS};

/// What bodies are made of.
static BLOCK: [u8; 256 << 10] = [b'x'; 256 << 10];

/// A request: one write, then so many bytes of body.
#[derive(Debug)]
pub(crate) struct Request {
    first: Vec<u8>,
    streamed: u64,
}

impl Request {
    /// What asks `host` for an answer of `kind` below `prefix`.
    pub(crate) fn of_kind(kind: Kind, host: SocketAddr, prefix: &str) -> Self {
        match kind {
            Kind::Post(bytes) => Request::post(host, prefix, bytes, true),
            Kind::Upload(bytes) => Request::post(host, prefix, bytes, false),
            Kind::Download(bytes) => {
                Request::get(host, &format!("{prefix}/download?bytes={bytes}"))
            }
            Kind::Burst => Request::get(host, &format!("{prefix}/sse?n={EVENTS}&gap_us=0")),
            Kind::Paced => Request::get(
                host,
                &format!("{prefix}/sse?n={EVENTS}&gap_us={PACE_MICROS}"),
            ),
        }
    }

    /// A request whose head (without the final empty line) and body are given.
    pub(crate) fn whole(head: &str, body: &[u8]) -> Self {
        let mut first = format!("{head}content-length: {}\r\n\r\n", body.len()).into_bytes();
        first.extend_from_slice(body);
        Request { first, streamed: 0 }
    }

    /// A GET of `target`.
    pub(crate) fn get(host: SocketAddr, target: &str) -> Self {
        let head = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\naccept: */*\r\n\r\n");
        Request {
            first: head.into_bytes(),
            streamed: 0,
        }
    }

    fn post(host: SocketAddr, prefix: &str, bytes: u64, at_once: bool) -> Self {
        let head = format!(
            "POST {prefix}/v1/work HTTP/1.1\r\nhost: {host}\r\naccept: */*\r\ncontent-type: application/octet-stream\r\n"
        );
        let small = usize::try_from(bytes)
            .ok()
            .and_then(|length| BLOCK.get(..length));
        match small.filter(|_| at_once) {
            Some(body) => Request::whole(&head, body),
            None => Request {
                first: format!("{head}content-length: {bytes}\r\n\r\n").into_bytes(),
                streamed: bytes,
            },
        }
    }

    /// Writes all of it.
    pub(crate) async fn write(&self, out: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
        out.write_all(&self.first).await?;
        let mut left = self.streamed;
        while left > 0 {
            let length = left.min(BLOCK.len() as u64);
            out.write_all(&BLOCK[..length as usize]).await?;
            left -= length;
        }
        Ok(())
    }
}
