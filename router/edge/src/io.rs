use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf, Take};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::Timeouts;
use crate::alarm::Alarm;
use crate::phase::Phase;
use crate::refusal;

/// How long a closing connection still takes in what the client is sending: a
/// close with unread bytes is a reset, which would eat our last response.
const LINGER: Duration = Duration::from_secs(2);

/// The most that one read takes: an upload is two or three of them in memory.
/// A byte below a power of two, since hyper doubles its buffer, up to the
/// largest head, whenever a read fills it.
const MOST_READ: u64 = 16 * 1024 - 1;

/// A client's connection that breaks when its next head takes too long, or
/// when the client stops reading.
///
/// Costs a request no timer: the one that a connection has stays armed.
pub struct EdgeIo {
    io: TokioIo<Take<TcpStream>>,
    /// What was read while the protocol was being told apart.
    first: Bytes,
    clock: Clock,
    timeouts: Timeouts,
    phase: Phase,
    /// The phase at the last read.
    turn: u32,
    /// When the first byte of a head came that is not whole.
    partial: Option<Moment>,
    /// Nothing more is to be had from the client.
    broken: bool,
    /// Since when we have ended our side.
    shut: Option<Moment>,
    /// Since when a write waits for the client.
    stalled: Option<Moment>,
    /// The phase when all that there was had been written.
    flushed: u32,
    /// What is sent in place of the library's answer to a bad head.
    refusal: Bytes,
    reading: Alarm,
    writing: Alarm,
    drain: CancellationToken,
}

impl EdgeIo {
    pub(crate) fn new(
        io: TcpStream,
        first: Bytes,
        clock: Clock,
        phase: Phase,
        timeouts: Timeouts,
        drain: CancellationToken,
    ) -> Self {
        EdgeIo {
            io: TokioIo::new(io.take(MOST_READ)),
            partial: Some(clock.now()).filter(|_| !first.is_empty()),
            first,
            clock,
            timeouts,
            turn: phase.turn(),
            phase,
            broken: false,
            shut: None,
            stalled: None,
            flushed: 0,
            refusal: Bytes::new(),
            reading: Alarm::default(),
            writing: Alarm::default(),
            drain,
        }
    }

    fn first(&mut self, mut buf: ReadBufCursor<'_>) {
        let n = self.first.len().min(buf.remaining());
        buf.put_slice(&self.first[..n]);
        self.first.advance(n);
        if self.first.is_empty() {
            // An empty slice would keep its whole buffer.
            self.first = Bytes::new();
        }
    }

    /// Forgets the head of a request that has been understood.
    fn notice_requests(&mut self) {
        let turn = self.phase.turn();
        if turn != self.turn {
            self.turn = turn;
            self.partial = None;
        }
    }

    fn note_bytes(&mut self) {
        if !self.phase.serving() && self.partial.is_none() {
            self.partial = Some(self.clock.now());
        }
    }

    fn stream(&mut self) -> Pin<&mut TcpStream> {
        Pin::new(self.io.inner_mut().get_mut())
    }

    /// Waiting outside a request: broken when that takes too long.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.phase.serving() {
            // Nobody need look again when the request ends: the alarm will.
            self.reading.rouse(cx, &self.clock, self.timeouts.idle);
            return Poll::Pending;
        }
        let ends = match self.partial {
            Some(began) => began + self.timeouts.head,
            None => self.phase.rests_since() + self.timeouts.idle,
        };
        ready!(self.reading.poll(cx, &self.clock, ends));
        self.broken = true;
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// What came of a write; one that waits for the client too long breaks.
    fn note_write(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let since = *self.stalled.get_or_insert_with(|| self.clock.now());
        let ends = since + self.timeouts.idle;
        ready!(self.writing.poll(cx, &self.clock, ends));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Takes the library's answer to a bad head out of what is written: that is
    /// what comes between two requests, after all that belongs to the last one.
    fn refuse(&mut self, own: &[u8]) -> bool {
        if self.phase.turn() != self.flushed || self.phase.serving() {
            return false;
        }
        let refusal = refusal::in_place_of(own);
        self.refusal = refusal.unwrap_or_default();
        !self.refusal.is_empty()
    }

    fn poll_refusal(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let refusal = self.refusal.clone();
            let written = self.stream().poll_write(cx, &refusal);
            let written = ready!(self.note_write(cx, written))?;
            self.refusal.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    /// Whether the client may be sending something that nobody will read.
    fn may_be_sending(&self) -> bool {
        !self.broken && !self.phase.serving() && !self.drain.is_cancelled()
    }

    /// Throws away what comes, until the client ends or for [`LINGER`].
    fn poll_linger(&mut self, cx: &mut Context<'_>, since: Moment) -> Poll<()> {
        let mut scratch = [0; 4 * 1024];
        let mut taken = 0;
        loop {
            let mut buf = ReadBuf::new(&mut scratch);
            match self.stream().poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => taken += buf.filled().len(),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => break,
            }
            if taken > 1024 * 1024 {
                // Others have their turn, and the clock is looked at.
                cx.waker().wake_by_ref();
                break;
            }
        }
        self.writing.poll(cx, &self.clock, since + LINGER)
    }
}

impl Read for EdgeIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.first.is_empty() {
            self.first(buf);
            return Poll::Ready(Ok(()));
        }
        self.notice_requests();
        self.io.inner_mut().set_limit(MOST_READ);
        let result = Pin::new(&mut self.io).poll_read(cx, buf);
        match &result {
            Poll::Pending => return self.poll_patience(cx),
            Poll::Ready(Ok(())) => self.note_bytes(),
            Poll::Ready(Err(_)) => self.broken = true,
        }
        result
    }
}

impl Write for EdgeIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.refuse(buf) {
            return Poll::Ready(Ok(buf.len()));
        }
        let written = self.stream().poll_write(cx, buf);
        self.note_write(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(cx))?;
        self.flushed = self.phase.turn();
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.shut.is_none() {
            ready!(self.stream().poll_shutdown(cx))?;
        }
        let now = self.clock.now();
        let since = *self.shut.get_or_insert(now);
        if self.may_be_sending() {
            ready!(self.poll_linger(cx, since));
        }
        Poll::Ready(Ok(()))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.inner().get_ref().is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [own] = bufs
            && self.refuse(own)
        {
            return Poll::Ready(Ok(own.len()));
        }
        let written = self.stream().poll_write_vectored(cx, bufs);
        self.note_write(cx, written)
    }
}
