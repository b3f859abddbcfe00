use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::serve::Signals;

/// What ends the demo: the signals that end a server, and the terminal's end.
/// A server outlives its terminal; the demo cleans up after itself instead.
pub(crate) struct Ending {
    signals: Signals,
    hangup: Signal,
}

impl Ending {
    /// Begins to listen; nothing ends the process by itself from now on.
    ///
    /// # Errors
    /// When the system does not let us.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let hangup = signal(SignalKind::hangup());
        Ok(Ending {
            signals: Signals::listen()?,
            hangup: hangup.map_err(|_| Failure::fault("cannot listen for signals"))?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn told(&mut self) {
        tokio::select! {
            () = self.signals.next() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
