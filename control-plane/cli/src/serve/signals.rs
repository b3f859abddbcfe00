//! The end of a server: a drain at the first signal, the exit at the second.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Planes;
use crate::failure::Failure;

/// The signals that end a server: SIGTERM and ctrl-c.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Begins to listen; they do not end the process by themselves from now on.
    ///
    /// # Errors
    /// When the system does not let us.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let cannot = |_| Failure::fault("cannot listen for signals");
        Ok(Signals {
            terminate: signal(SignalKind::terminate()).map_err(cannot)?,
            interrupt: signal(SignalKind::interrupt()).map_err(cannot)?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Waits for a signal, drains, and returns when everything has ended whole or
/// the grace is over.
pub(super) async fn until_shutdown(planes: Planes, mut signals: Signals) -> Result<(), Failure> {
    signals.next().await;
    tracing::info!("draining: what is in hand ends whole; nothing that runs is stopped");
    let lifecycle = planes.lifecycle.clone();
    let grace = planes.grace;
    lifecycle.drain.cancel();
    let ended = planes.ended();
    tokio::pin!(ended);
    tokio::select! {
        () = &mut ended => return Ok(()),
        () = signals.next() => {
            tracing::warn!("exiting at once");
            std::process::exit(1);
        }
        () = thermocline_clock::Clock::system().sleep(grace) => {
            tracing::warn!("the grace is over: what is still open is cut");
        }
    }
    lifecycle.abort.cancel();
    ended.await;
    Ok(())
}
