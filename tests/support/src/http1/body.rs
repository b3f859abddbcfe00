use std::io;

use bytes::Bytes;

use super::{Headers, Inbound, RequestHead, ResponseHead};

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    Empty,
    /// After so many bytes.
    Length(u64),
    /// At the terminating chunk.
    Chunked,
    /// When the sender closes.
    UntilClose,
}

impl Framing {
    /// How the body of a request ends.
    pub fn of_request(head: &RequestHead) -> Framing {
        Framing::declared(&head.headers).unwrap_or(Framing::Empty)
    }

    /// How the body of a response ends; `head_only` when it answers a HEAD.
    pub fn of_response(head: &ResponseHead, head_only: bool) -> Framing {
        if head_only || !allows_body(head.status) {
            return Framing::Empty;
        }
        Framing::declared(&head.headers).unwrap_or(Framing::UntilClose)
    }

    fn declared(headers: &Headers) -> Option<Framing> {
        if headers.lists("transfer-encoding", "chunked") {
            return Some(Framing::Chunked);
        }
        let length = headers.get("content-length")?.trim().parse().ok()?;
        Some(if length == 0 {
            Framing::Empty
        } else {
            Framing::Length(length)
        })
    }
}

/// Whether a response with `status` may have a body.
pub(crate) fn allows_body(status: u16) -> bool {
    status >= 200 && status != 204 && status != 304
}

/// Reads one body, piece by piece as it arrives.
#[derive(Debug)]
pub(crate) struct BodyReader {
    next: Next,
    trailers: Headers,
}

#[derive(Debug, Clone, Copy)]
enum Next {
    Data(u64),
    UntilClose,
    ChunkSize,
    ChunkData(u64),
    ChunkEnd,
    Trailers,
    Nothing,
}

impl BodyReader {
    pub(crate) fn new(framing: Framing) -> Self {
        let next = match framing {
            Framing::Empty => Next::Nothing,
            Framing::Length(length) => Next::Data(length),
            Framing::Chunked => Next::ChunkSize,
            Framing::UntilClose => Next::UntilClose,
        };
        let trailers = Headers::default();
        BodyReader { next, trailers }
    }

    /// The next piece, never empty; `None` at the end.
    ///
    /// # Errors
    /// `UnexpectedEof` when the sender ended before the body did.
    pub(crate) async fn piece(&mut self, inbound: &mut Inbound) -> io::Result<Option<Bytes>> {
        loop {
            match self.next {
                Next::Nothing => return Ok(None),
                Next::Data(left) => return self.data(inbound, left, Next::Data).await,
                Next::ChunkData(left) => return self.data(inbound, left, Next::ChunkData).await,
                Next::UntilClose => return self.until_close(inbound).await,
                Next::ChunkSize => self.chunk_size(inbound).await?,
                Next::ChunkEnd => self.chunk_end(inbound).await?,
                Next::Trailers => self.trailer(inbound).await?,
            }
        }
    }

    /// The trailer fields that came by now.
    pub(crate) fn trailers(&self) -> &Headers {
        &self.trailers
    }

    /// Whether the end was reached.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.next, Next::Nothing)
    }

    async fn data(
        &mut self,
        inbound: &mut Inbound,
        left: u64,
        again: fn(u64) -> Next,
    ) -> io::Result<Option<Bytes>> {
        let Some(piece) = inbound.some(left).await? else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let left = left - piece.len() as u64;
        self.next = match again(left) {
            Next::Data(0) => Next::Nothing,
            Next::ChunkData(0) => Next::ChunkEnd,
            more => more,
        };
        Ok(Some(piece))
    }

    async fn until_close(&mut self, inbound: &mut Inbound) -> io::Result<Option<Bytes>> {
        let piece = inbound.some(u64::MAX).await?;
        if piece.is_none() {
            self.next = Next::Nothing;
        }
        Ok(piece)
    }

    async fn chunk_size(&mut self, inbound: &mut Inbound) -> io::Result<()> {
        let line = inbound.line().await?;
        self.next = match parse_chunk_size(&line)? {
            0 => Next::Trailers,
            size => Next::ChunkData(size),
        };
        Ok(())
    }

    async fn chunk_end(&mut self, inbound: &mut Inbound) -> io::Result<()> {
        if !inbound.line().await?.is_empty() {
            return Err(malformed("chunk longer than its size"));
        }
        self.next = Next::ChunkSize;
        Ok(())
    }

    async fn trailer(&mut self, inbound: &mut Inbound) -> io::Result<()> {
        let line = inbound.line().await?;
        if line.is_empty() {
            self.next = Next::Nothing;
            return Ok(());
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let colon = colon.ok_or_else(|| malformed("trailer without a colon"))?;
        let value = line.slice_ref(line[colon + 1..].trim_ascii());
        self.trailers.push(line.slice(..colon), value);
        Ok(())
    }
}

fn parse_chunk_size(line: &[u8]) -> io::Result<u64> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    std::str::from_utf8(digits)
        .ok()
        .and_then(|text| u64::from_str_radix(text.trim(), 16).ok())
        .ok_or_else(|| malformed("chunk size"))
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_size_may_carry_an_extension() {
        assert_eq!(parse_chunk_size(b"1f;name=value").unwrap(), 31);
        assert!(parse_chunk_size(b"").is_err());
    }

    #[test]
    fn some_responses_never_have_a_body() {
        let mut head = ResponseHead {
            status: 304,
            reason: String::new(),
            minor: 1,
            headers: Headers::default(),
        };
        head.headers.push("content-length", "9");
        assert_eq!(Framing::of_response(&head, false), Framing::Empty);
        head.status = 200;
        assert_eq!(Framing::of_response(&head, true), Framing::Empty);
        assert_eq!(Framing::of_response(&head, false), Framing::Length(9));
    }
}
