//! The request plane's threads: one runtime per core, each driving its own
//! connections from first byte to last.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use thermocline_clock::Clock;
use thermocline_edge::{Accept, Lifecycle, Timeouts, connection_limit, serve_connection};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::task::TaskTracker;

use crate::call::Client;
use crate::gateway::Gateway;
use crate::upstream::sweep;

type Accepted = (TcpStream, SocketAddr, OwnedSemaphorePermit);

/// How often idle connections to backends are looked through.
const SWEEP: Duration = Duration::from_secs(2);

/// The running threads.
pub struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    /// Waits until every connection has ended; blocks.
    pub fn join(self) {
        for thread in self.0 {
            // A thread that panicked has reported it already.
            let _ = thread.join();
        }
    }
}

/// Serves `listener` on `count` threads until `lifecycle` ends it.
///
/// # Errors
/// When a thread or its runtime cannot be made.
pub fn serve(
    gateway: &Arc<Gateway>,
    listener: TcpListener,
    count: usize,
    timeouts: Timeouts,
    lifecycle: &Lifecycle,
) -> io::Result<Threads> {
    let mut threads = Vec::new();
    let mut hands = Vec::new();
    for number in 0..count.max(1) {
        let (hand, accepted) = mpsc::channel(1024);
        hands.push(hand);
        let worker = Worker {
            gateway: gateway.clone(),
            timeouts,
            lifecycle: lifecycle.clone(),
        };
        threads.push(thread(&format!("gateway-{number}"), move || {
            worker.run(accepted)
        })?);
    }
    let clock = gateway.clock.clone();
    let acceptor = Acceptor {
        hands,
        lifecycle: lifecycle.clone(),
    };
    threads.push(thread("gateway-accept", move || {
        acceptor.run(listener, clock)
    })?);
    Ok(Threads(threads))
}

/// Starts a thread with a runtime of its own.
fn thread<F, R>(name: &str, body: F) -> io::Result<JoinHandle<()>>
where
    F: FnOnce() -> R + Send + 'static,
    R: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            runtime.block_on(async move { body().await });
        })
}

/// Hands connections to the threads in turn, so that each has its share.
struct Acceptor {
    hands: Vec<mpsc::Sender<Accepted>>,
    lifecycle: Lifecycle,
}

impl Acceptor {
    async fn run(self, listener: TcpListener, clock: Clock) {
        let accept = match Accept::new(listener, connection_limit(), clock) {
            Ok(accept) => accept,
            Err(error) => {
                tracing::error!(%error, "the request plane cannot listen");
                return;
            }
        };
        for turn in (0..self.hands.len()).cycle() {
            let accepted = tokio::select! {
                () = self.lifecycle.drain.cancelled() => return,
                () = self.lifecycle.abort.cancelled() => return,
                accepted = accept.next() => accepted,
            };
            if self.hands[turn].send(accepted).await.is_err() {
                return;
            }
        }
    }
}

struct Worker {
    gateway: Arc<Gateway>,
    timeouts: Timeouts,
    lifecycle: Lifecycle,
}

impl Worker {
    async fn run(self, mut accepted: mpsc::Receiver<Accepted>) {
        let tasks = TaskTracker::new();
        let clock = self.gateway.clock.clone();
        let mut next_sweep = clock.now() + SWEEP;
        loop {
            tokio::select! {
                next = accepted.recv() => match next {
                    Some(next) => drop(tasks.spawn(self.connection(next))),
                    None => break,
                },
                () = clock.sleep_until(next_sweep) => {
                    sweep(clock.now());
                    next_sweep = clock.now() + SWEEP;
                }
            }
        }
        tasks.close();
        tokio::select! {
            () = tasks.wait() => {}
            () = self.lifecycle.abort.cancelled() => {}
        }
        // Switched connections outlive the requests that asked for them: a
        // WebSocket is told goodbye. All of them end with the drain or the abort.
        self.gateway.relays.close();
        self.gateway.relays.wait().await;
    }

    fn connection(
        &self,
        (stream, peer, place): Accepted,
    ) -> impl Future<Output = ()> + Send + 'static {
        let gateway = self.gateway.clone();
        let timeouts = self.timeouts;
        // Tokens of its own: looking at them shares nothing with other connections.
        let lifecycle = Lifecycle {
            drain: self.lifecycle.drain.child_token(),
            abort: self.lifecycle.abort.child_token(),
        };
        async move {
            let clock = gateway.clock.clone();
            let client = Arc::new(Client::new(peer, lifecycle.clone()));
            let service = service_fn(move |request: Request<Incoming>| {
                // Boxed: it would be moved several times on its way into the connection.
                let answer = Box::pin(gateway.clone().handle(request, client.clone()));
                async move { Ok::<_, Infallible>(answer.await) }
            });
            serve_connection(stream, service, timeouts, lifecycle, clock).await;
            drop(place);
        }
    }
}
