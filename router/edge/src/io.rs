use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use thermocline_clock::{Clock, Sleep};
use thermocline_policy::Moment;
use tokio::net::TcpStream;

/// Whether the connection is within a request; shared with its service.
#[derive(Clone, Default, Debug)]
pub(crate) struct Phase(Arc<AtomicBool>);

impl Phase {
    pub(crate) fn set_serving(&self, serving: bool) {
        self.0.store(serving, Ordering::Relaxed);
    }

    fn serving(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A client's connection that breaks when its next head takes too long.
///
/// Costs a request nothing: a timer is armed only when a read has to wait
/// outside a request.
pub struct EdgeIo {
    io: TokioIo<TcpStream>,
    /// What was read while the protocol was being told apart.
    first: Bytes,
    clock: Clock,
    phase: Phase,
    head: Duration,
    idle: Duration,
    /// Bytes of a head have come, but not all.
    partial: bool,
    /// Since when it has been waiting outside a request.
    since: Option<Moment>,
    timer: Option<(Moment, Sleep)>,
}

impl EdgeIo {
    pub(crate) fn new(
        io: TcpStream,
        first: Bytes,
        clock: Clock,
        phase: Phase,
        head: Duration,
        idle: Duration,
    ) -> Self {
        EdgeIo {
            io: TokioIo::new(io),
            partial: !first.is_empty(),
            first,
            clock,
            phase,
            head,
            idle,
            since: None,
            timer: None,
        }
    }

    fn first(&mut self, mut buf: ReadBufCursor<'_>) {
        let n = self.first.len().min(buf.remaining());
        buf.put_slice(&self.first[..n]);
        self.first.advance(n);
    }

    /// Waiting outside a request: broken when that takes too long.
    ///
    /// A timer that is armed stays so through requests and is moved when it
    /// fires, so that keep-alive costs no timer per request.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let since = *self.since.get_or_insert_with(|| self.clock.now());
        let patience = if self.partial { self.head } else { self.idle };
        let deadline = since + patience;
        if self.timer.as_ref().is_none_or(|(at, _)| *at > deadline) {
            self.timer = Some((deadline, self.clock.sleep_until(deadline)));
        }
        while let Some((at, sleep)) = &mut self.timer {
            ready!(Pin::new(sleep).poll(cx));
            if *at >= deadline {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.timer = Some((deadline, self.clock.sleep_until(deadline)));
        }
        Poll::Pending
    }

    fn note_read(&mut self) {
        if self.phase.serving() {
            self.partial = false;
            self.since = None;
        } else if !self.partial {
            self.partial = true;
            self.since = Some(self.clock.now());
        }
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
        let result = Pin::new(&mut self.io).poll_read(cx, buf);
        if result.is_ready() {
            self.note_read();
            return result;
        }
        if self.phase.serving() {
            self.partial = false;
            self.since = None;
            return Poll::Pending;
        }
        self.poll_patience(cx)
    }
}

impl Write for EdgeIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }
}
