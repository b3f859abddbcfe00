//! The demo's stand-in for a machine of the user's own.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use thermocline_sim::serve_alone;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::failure::Failure;

const SERVICE_TIME: Duration = Duration::from_millis(40);

/// A server on loopback that ends with this value.
#[derive(Debug)]
pub(crate) struct OwnBackend {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    task: AbortHandle,
}

impl OwnBackend {
    /// Starts it on a free port.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) async fn start() -> Result<Self, Failure> {
        let fault = |_| Failure::fault("no free port for the demo's own backend");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        let task = tokio::spawn(serve_alone(listener, "own", SERVICE_TIME));
        Ok(OwnBackend {
            address,
            task: task.abort_handle(),
        })
    }
}

impl Drop for OwnBackend {
    fn drop(&mut self) {
        self.task.abort();
    }
}
