//! The end of a server: a drain at the first signal, the exit at the second.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Planes;
use crate::failure::Failure;

/// Waits for a signal, drains, and returns when everything has ended whole or
/// the grace is over.
pub(super) async fn until_shutdown(planes: Planes) -> Result<(), Failure> {
    let cannot = |_| Failure::fault("cannot listen for signals");
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    next(&mut terminate, &mut interrupt).await;
    tracing::info!("draining: what is in hand ends whole; nothing that runs is stopped");
    let lifecycle = planes.lifecycle.clone();
    let grace = planes.grace;
    lifecycle.drain.cancel();
    let ended = planes.ended();
    tokio::pin!(ended);
    tokio::select! {
        () = &mut ended => return Ok(()),
        () = next(&mut terminate, &mut interrupt) => {
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

async fn next(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
