use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use thermocline_clock::Clock;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Binds `address`; port 0 takes a free one.
///
/// # Errors
/// The system's, as "address in use".
pub fn listen(address: SocketAddr) -> io::Result<StdListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(4096)?;
    Ok(socket.into())
}

/// How many connections one listener may hold: a quarter of the files that this
/// process may open. Each can need one more towards a backend, and a backend that
/// is this process itself, as the shared fleet's, another one; a rest is for workers,
/// providers and the store.
pub fn connection_limit() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20);
    usize::try_from(files.min(1 << 20) / 4)
        .unwrap_or(256)
        .max(16)
}

/// Accepts connections, at most so many at a time.
pub struct Accept {
    listener: TcpListener,
    places: Arc<Semaphore>,
    clock: Clock,
}

impl Accept {
    /// An acceptor on `listener`, within a runtime.
    ///
    /// # Errors
    /// When the listener cannot be registered.
    pub fn new(listener: StdListener, limit: usize, clock: Clock) -> io::Result<Self> {
        Ok(Accept {
            listener: TcpListener::from_std(listener)?,
            places: Arc::new(Semaphore::new(limit)),
            clock,
        })
    }

    /// The next connection, not yet bound to a runtime, and the place it holds.
    pub async fn next(&self) -> (StdStream, SocketAddr, OwnedSemaphorePermit) {
        let place = self.place().await;
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    let _ = stream.set_nodelay(true);
                    match stream.into_std() {
                        Ok(stream) => return (stream, peer, place),
                        Err(error) => tracing::warn!(%error, "a connection was lost at accept"),
                    }
                }
                Err(error) => {
                    // Out of files or memory: other connections must end first.
                    tracing::warn!(%error, "cannot accept");
                    self.clock.sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    async fn place(&self) -> OwnedSemaphorePermit {
        loop {
            if let Ok(place) = self.places.clone().acquire_owned().await {
                return place;
            }
        }
    }
}
