//! One keep-alive connection: requests out, answers in.

use std::net::SocketAddr;

use bytes::{Buf, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::fault::Fault;
use super::framing::Framing;
use super::receipt::Receipt;
use super::request::Request;

/// How much is read at once.
const ROOM: usize = 64 << 10;
const MAX_HEADERS: usize = 64;

/// A connection between two requests.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    input: BytesMut,
}

/// What an answer's head says.
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Whether the connection may be used again.
    pub(crate) keep_alive: bool,
    framing: Framing,
}

impl Connection {
    /// Connects to `address`.
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, Fault> {
        let stream = TcpStream::connect(address)
            .await
            .map_err(|error| Fault::Connect(error.kind()))?;
        stream
            .set_nodelay(true)
            .map_err(|error| Fault::Connect(error.kind()))?;
        Ok(Connection {
            stream,
            input: BytesMut::with_capacity(ROOM),
        })
    }

    /// Whether the other side has neither closed nor sent anything since the last answer.
    pub(crate) fn is_quiet(&self) -> bool {
        let seen = self.stream.try_read(&mut [0]);
        seen.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }

    /// Sends a request and reads its answer to the end, into `receipt`.
    pub(crate) async fn exchange(
        &mut self,
        request: &Request,
        receipt: &mut Receipt,
    ) -> Result<Head, Fault> {
        request
            .write(&mut self.stream)
            .await
            .map_err(|error| Fault::Send(error.kind()))?;
        let mut head = self.head().await?;
        loop {
            let used = head.framing.feed(&self.input, receipt)?;
            self.input.advance(used);
            if head.framing.is_complete() {
                return Ok(head);
            }
            self.fill().await?;
        }
    }

    async fn head(&mut self) -> Result<Head, Fault> {
        loop {
            if let Some((head, length)) = parse(&self.input)? {
                self.input.advance(length);
                if head.status >= 200 {
                    return Ok(head);
                }
            } else {
                self.fill().await?;
            }
        }
    }

    async fn fill(&mut self) -> Result<(), Fault> {
        self.input.reserve(ROOM);
        match self.stream.read_buf(&mut self.input).await {
            Ok(0) => Err(Fault::Closed),
            Ok(_) => Ok(()),
            Err(error) => Err(Fault::Receive(error.kind())),
        }
    }
}

/// A head and its length, none if there is more to come.
fn parse(input: &[u8]) -> Result<Option<(Head, usize)>, Fault> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut answer = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(length) = answer.parse(input).map_err(|_| Fault::Malformed)?
    else {
        return Ok(None);
    };
    let status = answer.code.ok_or(Fault::Malformed)?;
    let framing = if status < 200 {
        Framing::EMPTY
    } else {
        Framing::of(answer.headers)?
    };
    let keep_alive = answer.version == Some(1) && !says(answer.headers, "connection", "close");
    Ok(Some((
        Head {
            status,
            keep_alive,
            framing,
        },
        length,
    )))
}

/// Whether a header has exactly this value, in any case.
pub(super) fn says(headers: &[httparse::Header<'_>], name: &str, value: &str) -> bool {
    let named = |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case(name);
    headers
        .iter()
        .filter(named)
        .any(|header| header.value.eq_ignore_ascii_case(value.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Option<Head> {
        parse(text.as_bytes()).ok().flatten().map(|(head, _)| head)
    }

    #[test]
    fn a_head_in_two_parts_is_waited_for() {
        assert!(matches!(parse(b"HTTP/1.1 200 OK\r\ncontent-le"), Ok(None)));
    }

    #[test]
    fn says_whether_the_connection_lives_on() {
        assert!(
            head("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .unwrap()
                .keep_alive
        );
        assert!(
            !head("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: Close\r\n\r\n")
                .unwrap()
                .keep_alive
        );
    }

    #[test]
    fn an_answer_that_only_closing_ends_is_refused() {
        assert_eq!(
            parse(b"HTTP/1.1 200 OK\r\n\r\n").err(),
            Some(Fault::Malformed)
        );
    }
}
