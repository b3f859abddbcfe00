use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use thermocline_clock::Clock;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::Connection;
use super::log::Log;
use super::{Script, Seen};

const BACKLOG: u32 = 1024;

/// A running backend; clones are the same one, which dies with the last.
#[derive(Debug, Clone)]
pub struct FakeBackend(Arc<Server>);

/// A port that refuses connections until the backend behind it opens.
#[derive(Debug)]
pub struct ReservedBackend {
    socket: TcpSocket,
    address: SocketAddr,
}

#[derive(Debug)]
struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: CancellationToken,
}

/// What the connections of one backend have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) script: Script,
    pub(super) clock: Clock,
    pub(super) log: Arc<Log>,
    /// Cancels the connections that are open now.
    severed: Mutex<CancellationToken>,
    tasks: TaskTracker,
}

impl ReservedBackend {
    /// Takes a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When there is none.
    pub fn bind() -> io::Result<Self> {
        ReservedBackend::bind_to(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Takes `address`, such as that of a backend which was killed.
    ///
    /// # Errors
    /// When somebody else has it.
    pub fn bind_to(address: SocketAddr) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        // Old connections of the port may linger in TIME_WAIT.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let address = socket.local_addr()?;
        Ok(ReservedBackend { socket, address })
    }

    /// Where the backend will be.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://` with host and port.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Starts to listen; delays of the script run on `clock`.
    ///
    /// # Errors
    /// When the port cannot be listened on.
    pub fn open(self, script: impl Into<Script>, clock: &Clock) -> io::Result<FakeBackend> {
        let listener = self.socket.listen(BACKLOG)?;
        let stop = CancellationToken::new();
        let shared = Arc::new(Shared {
            script: script.into(),
            clock: clock.clone(),
            log: Arc::default(),
            severed: Mutex::new(stop.child_token()),
            tasks: TaskTracker::new(),
        });
        let accepting = accept(listener, shared.clone(), stop.clone());
        shared.tasks.spawn(accepting);
        Ok(FakeBackend(Arc::new(Server {
            address: self.address,
            shared,
            stop,
        })))
    }
}

impl FakeBackend {
    /// A backend on a free port whose delays run in real time.
    ///
    /// # Panics
    /// When loopback has no port to give: no test can go on without.
    pub async fn start(script: impl Into<Script>) -> Self {
        FakeBackend::start_on(&Clock::system(), script).await
    }

    /// A backend on a free port whose delays run on `clock`.
    ///
    /// # Panics
    /// As [`FakeBackend::start`].
    pub async fn start_on(clock: &Clock, script: impl Into<Script>) -> Self {
        let opened = ReservedBackend::bind().and_then(|port| port.open(script, clock));
        opened.expect("loopback has a free port")
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.0.address.port()
    }

    /// `http://` with host and port.
    pub fn url(&self) -> String {
        format!("http://{}", self.0.address)
    }

    /// What was seen until now.
    pub fn seen(&self) -> Seen {
        self.0.shared.log.seen()
    }

    /// Waits until `wanted` holds of what was seen, and returns that. Within
    /// `wanted` nothing else may be asked of this backend.
    ///
    /// # Panics
    /// When it does not hold after 30 s of real time.
    pub async fn wait_for(&self, wanted: impl Fn(&Seen) -> bool) -> Seen {
        let seen = self.0.shared.log.until(wanted).await;
        seen.unwrap_or_else(|| panic!("never seen by the backend; it saw {:#?}", self.seen()))
    }

    /// Breaks off every connection that is open; new ones are accepted.
    pub fn sever(&self) {
        let fresh = self.0.stop.child_token();
        let mut severed = self.0.shared.severed();
        std::mem::replace(&mut *severed, fresh).cancel();
    }

    /// Ends as a process does: every connection is closed, and when this
    /// returns the port refuses new ones. What was seen stays readable.
    pub async fn kill(&self) {
        self.0.stop.cancel();
        self.0.shared.tasks.close();
        self.0.shared.tasks.wait().await;
    }

    /// Whether it was killed.
    pub fn is_dead(&self) -> bool {
        self.0.stop.is_cancelled()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Shared {
    fn severed(&self) -> std::sync::MutexGuard<'_, CancellationToken> {
        self.severed.lock().unwrap_or_else(|e| e.into_inner())
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    let accepting = async {
        loop {
            // An error is one connection's misfortune, not the listener's.
            if let Ok((stream, peer)) = listener.accept().await {
                serve(&shared, stream, peer);
            }
        }
    };
    stop.run_until_cancelled(accepting).await;
}

fn serve(shared: &Arc<Shared>, stream: TcpStream, peer: SocketAddr) {
    let severed = shared.severed().clone();
    let Ok(connection) = Connection::new(shared.clone(), stream, peer) else {
        return;
    };
    shared.tasks.spawn(async move {
        severed.run_until_cancelled(connection.serve()).await;
    });
}
