//! After `101 Switching Protocols`: bytes both ways until one side ends.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use thermocline_clock::Clock;
use thermocline_edge::Lifecycle;
use thermocline_policy::Moment;
use thermocline_table::Outcome;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

use crate::settle::Settlement;
use crate::upstream::Connection;
use crate::websocket::{FrameTracker, GOING_AWAY};

/// Both ends of a switched connection.
pub(crate) struct Relay {
    pub(crate) client: OnUpgrade,
    pub(crate) backend: Connection,
    pub(crate) settlement: Settlement,
    /// Whether it is a WebSocket, which can be told goodbye.
    pub(crate) websocket: bool,
    pub(crate) idle: Duration,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) clock: Clock,
}

impl Relay {
    /// Passes bytes until one side ends, nothing moves for `idle`, an operator
    /// cancels it, or we drain.
    pub(crate) async fn run(self) {
        let Ok(client) = self.client.await else {
            self.settlement.end(Outcome::ClientLeft);
            return;
        };
        let (backend, unread) = self.backend.into_parts();
        let (client_read, client_write) = split(TokioIo::new(client));
        let (backend_read, backend_write) = split(backend);
        let last = AtomicU64::new(self.clock.now().nanos());
        let moved = || last.store(self.clock.now().nanos(), Ordering::Relaxed);
        let up = pump(client_read, backend_write, &moved);
        let down = Downstream {
            unread,
            tracker: FrameTracker::default(),
            goodbye: self.websocket,
            lifecycle: &self.lifecycle,
        };
        let outcome = tokio::select! {
            // Half-closed is closed: neither WebSocket nor TCP tunnels of HTTP outlive it.
            result = up => ended(&result),
            result = down.pump(backend_read, client_write, &moved) => ended(&result),
            () = quiet(&self.clock, &last, self.idle) => Outcome::Timeout,
            () = self.lifecycle.abort.cancelled() => Outcome::Ok,
            () = self.settlement.ongoing().cancelled() => Outcome::Cancelled,
        };
        self.settlement.end(outcome);
    }
}

fn ended(result: &io::Result<()>) -> Outcome {
    match result {
        Ok(()) => Outcome::Ok,
        Err(_) => Outcome::UpstreamAborted,
    }
}

/// Ends when nothing has moved for `idle`.
async fn quiet(clock: &Clock, last: &AtomicU64, idle: Duration) {
    let runs_out = || Moment::from_nanos(last.load(Ordering::Relaxed)) + idle;
    loop {
        let then = runs_out();
        clock.sleep_until(then).await;
        if runs_out() <= then {
            return;
        }
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &impl Fn(),
) -> io::Result<()> {
    let mut buf = vec![0; 16 * 1024];
    loop {
        let n = from.read(&mut buf).await?;
        if n == 0 {
            return to.shutdown().await;
        }
        moved();
        to.write_all(&buf[..n]).await?;
        to.flush().await?;
    }
}

/// From the backend to the client, with a goodbye between two frames.
struct Downstream<'l> {
    unread: Bytes,
    tracker: FrameTracker,
    goodbye: bool,
    lifecycle: &'l Lifecycle,
}

impl Downstream<'_> {
    async fn pump(
        mut self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        moved: &impl Fn(),
    ) -> io::Result<()> {
        let mut buf = vec![0; 16 * 1024];
        let first = std::mem::take(&mut self.unread);
        self.pass(&first, &mut to).await?;
        loop {
            let may_leave = !self.goodbye || self.tracker.at_boundary();
            tokio::select! {
                biased;
                () = self.lifecycle.drain.cancelled(), if may_leave => {
                    if self.goodbye {
                        to.write_all(&GOING_AWAY).await?;
                    }
                    return to.shutdown().await;
                }
                read = from.read(&mut buf) => {
                    let n = read?;
                    if n == 0 {
                        return to.shutdown().await;
                    }
                    moved();
                    self.pass(&buf[..n], &mut to).await?;
                }
            }
        }
    }

    async fn pass(&mut self, bytes: &[u8], to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.goodbye {
            self.tracker.observe(bytes);
        }
        to.write_all(bytes).await?;
        to.flush().await
    }
}
