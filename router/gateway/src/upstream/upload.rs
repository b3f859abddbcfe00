use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use tokio::io::AsyncWrite;

use super::{ExchangeError, UpstreamIo};
use crate::inbound::{Inbound, Piece};

/// The client is read again when less than this waits to be written: a head
/// goes out with the beginning of its body, and one piece at a time is held.
const MOST_QUEUED: usize = 4 * 1024;

/// How the request's body is framed towards the backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Empty,
    Length(u64),
    Chunked,
}

/// A request on its way to a backend: its head, then its body as it comes.
pub(crate) struct Upload {
    body: Inbound,
    chunked: bool,
    out: VecDeque<Bytes>,
    queued: usize,
    source_ended: bool,
    received: u64,
    most: u64,
    wrote: bool,
    /// Whether the body is left with the client until the backend wants it.
    withheld: bool,
}

impl Upload {
    pub(crate) fn new(head: Bytes, body: Inbound, framing: Framing, most: Option<u64>) -> Self {
        Upload {
            body,
            chunked: framing == Framing::Chunked,
            queued: head.len(),
            out: VecDeque::from([head]),
            source_ended: framing == Framing::Empty,
            received: 0,
            most: most.unwrap_or(u64::MAX),
            wrote: false,
            withheld: false,
        }
    }

    /// The same, whose body is sent once the backend has said that it wants it.
    pub(crate) fn withheld(mut self) -> Self {
        self.withheld = !self.source_ended;
        self
    }

    /// The backend wants the body.
    pub(crate) fn release(&mut self) {
        self.withheld = false;
    }

    /// Whether anything has been written to the backend.
    pub(crate) fn wrote(&self) -> bool {
        self.wrote
    }

    /// Whether all has been written.
    pub(crate) fn is_done(&self) -> bool {
        self.source_ended && self.out.is_empty()
    }

    /// The request's body, for another try; only where nothing was taken off it.
    pub(crate) fn into_untouched_body(self) -> Option<Inbound> {
        (self.received == 0).then_some(self.body)
    }

    /// The request's body, without what was taken off it.
    pub(crate) fn body(&self) -> &Inbound {
        &self.body
    }

    /// The same, to be changed.
    pub(crate) fn body_mut(&mut self) -> &mut Inbound {
        &mut self.body
    }

    /// The same, for another use.
    pub(crate) fn into_body(self) -> Inbound {
        self.body
    }

    /// Sends what there is to send; ready when all has been.
    pub(crate) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        io: &mut UpstreamIo,
    ) -> Poll<Result<(), ExchangeError>> {
        loop {
            self.poll_source(cx)?;
            if self.out.is_empty() {
                return match self.source_ended {
                    true => Poll::Ready(Ok(())),
                    false => Poll::Pending,
                };
            }
            let written = ready!(self.poll_write(cx, io)).map_err(ExchangeError::Write)?;
            self.wrote = true;
            self.advance(written);
        }
    }

    fn poll_source(&mut self, cx: &mut Context<'_>) -> Result<(), ExchangeError> {
        while !self.source_ended && !self.withheld && self.queued < MOST_QUEUED {
            match self.body.poll_piece(cx) {
                Poll::Ready(Some(Ok(Piece::Data(data)))) => self.push_data(data)?,
                Poll::Ready(Some(Ok(Piece::Trailers(trailers)))) => self.end(Some(&trailers)),
                Poll::Ready(None) => self.end(None),
                Poll::Ready(Some(Err(error))) => return Err(ExchangeError::Client(error)),
                Poll::Pending => break,
            }
        }
        Ok(())
    }

    fn push_data(&mut self, data: Bytes) -> Result<(), ExchangeError> {
        self.received += data.len() as u64;
        if self.received > self.most {
            return Err(ExchangeError::TooLarge);
        }
        if data.is_empty() {
            return Ok(());
        }
        if self.chunked {
            self.push(Bytes::from(format!("{:x}\r\n", data.len())));
            self.push(data);
            self.push(Bytes::from_static(b"\r\n"));
        } else {
            self.push(data);
        }
        Ok(())
    }

    fn end(&mut self, trailers: Option<&HeaderMap>) {
        self.source_ended = true;
        if !self.chunked {
            return;
        }
        let mut tail = b"0\r\n".to_vec();
        for (name, value) in trailers.into_iter().flatten() {
            tail.extend_from_slice(name.as_str().as_bytes());
            tail.extend_from_slice(b": ");
            tail.extend_from_slice(value.as_bytes());
            tail.extend_from_slice(b"\r\n");
        }
        tail.extend_from_slice(b"\r\n");
        self.push(Bytes::from(tail));
    }

    fn push(&mut self, bytes: Bytes) {
        self.queued += bytes.len();
        self.out.push_back(bytes);
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, io: &mut UpstreamIo) -> Poll<io::Result<usize>> {
        let io = Pin::new(io);
        let result = match self.out.len() {
            1 => io.poll_write(cx, &self.out[0]),
            _ => {
                let mut slices = [IoSlice::new(&[]); 16];
                let mut count = 0;
                for (slot, bytes) in slices.iter_mut().zip(&self.out) {
                    *slot = IoSlice::new(bytes);
                    count += 1;
                }
                io.poll_write_vectored(cx, &slices[..count])
            }
        };
        match ready!(result) {
            Ok(0) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            other => Poll::Ready(other),
        }
    }

    fn advance(&mut self, mut written: usize) {
        self.queued -= written;
        while let Some(front) = self.out.front_mut() {
            let n = written.min(front.len());
            front.advance(n);
            written -= n;
            if !front.is_empty() {
                return;
            }
            self.out.pop_front();
        }
    }
}
