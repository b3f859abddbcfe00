//! The admin plane's own listener: the same timers and drain as the request plane's.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use hyper_util::service::TowerToHyperService;
use thermocline_edge::{Accept, Lifecycle, Timeouts, serve_connection};
use tokio_util::task::TaskTracker;

use crate::control::ControlPlane;
use crate::rest::router;

const MOST_CONNECTIONS: usize = 1024;

/// Serves the admin plane until `lifecycle` ends it and every connection has.
///
/// # Errors
/// When the listener cannot be registered.
pub async fn serve_admin(
    control: Arc<ControlPlane>,
    listener: TcpListener,
    token: [u8; 32],
    lifecycle: Lifecycle,
) -> io::Result<()> {
    let clock = control.clock.clone();
    let accept = Accept::new(listener, MOST_CONNECTIONS, clock.clone())?;
    let service = TowerToHyperService::new(router(control.clone(), token));
    let tasks = TaskTracker::new();
    loop {
        let (stream, _, place) = tokio::select! {
            accepted = accept.next() => accepted,
            () = lifecycle.drain.cancelled() => break,
            () = lifecycle.abort.cancelled() => break,
        };
        let connection = serve_connection(
            stream,
            service.clone(),
            Timeouts::default(),
            lifecycle.clone(),
            clock.clone(),
        );
        tasks.spawn(async move {
            connection.await;
            drop(place);
        });
    }
    tasks.close();
    tokio::select! {
        // What was paid until the end is written down with it.
        () = async { tasks.wait().await; control.write_books().await } => {}
        () = lifecycle.abort.cancelled() => {}
    }
    Ok(())
}
