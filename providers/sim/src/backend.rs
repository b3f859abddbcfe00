//! What an instance serves: a small HTTP server that costs little to run.

mod alone;
mod body;
mod chat;
mod events;
mod respond;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use thermocline_clock::Clock;
use thermocline_policy::{Moment, Tier};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::settings::LiveSettings;
use crate::workers::{Pool, Worker};
pub use alone::serve_alone;
use body::{Body, ReplyBody};

/// How long to wait when no connection can be accepted, for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// One instance's server.
pub(crate) struct Backend {
    pub(crate) deployment: String,
    pub(crate) instance: String,
    pub(crate) tier: Tier,
    pub(crate) ready_path: String,
    /// From when on the ready path says so.
    pub(crate) ready_at: Moment,
    /// How long a request takes, where that is not the cloud's setting.
    pub(crate) service_time: Option<Duration>,
    pub(crate) settings: Arc<LiveSettings>,
    pub(crate) clock: Clock,
    /// The workers of a serverless endpoint.
    pub(crate) workers: Option<Arc<Pool>>,
}

/// Serves for ever; dropping it breaks every connection.
pub(crate) async fn serve(listener: TcpListener, backend: Arc<Backend>) -> Infallible {
    let connections = CancellationToken::new();
    let _broken_on_drop = connections.clone().drop_guard();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            backend.clock.sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (backend, end) = (backend.clone(), connections.clone());
        tokio::spawn(async move { end.run_until_cancelled(connection(stream, backend)).await });
    }
}

async fn connection(stream: TcpStream, backend: Arc<Backend>) {
    let _only_slower_without = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let backend = backend.clone();
        async move { backend.answer(request).await }
    });
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let _client_left = served.await;
}

impl Backend {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
        if self.asks_ready(&request) {
            return Ok(self.readiness());
        }
        let worker = match &self.workers {
            Some(pool) => Some(pool.acquire().await),
            None => None,
        };
        let response = self.respond(request).await?;
        Ok(response.map(|body| Body::new(body, worker)))
    }

    /// The ready path is answered by the instance itself: it wakes no worker.
    fn asks_ready(&self, request: &Request<Incoming>) -> bool {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        reads && !self.ready_path.is_empty() && request.uri().path() == self.ready_path
    }

    fn readiness(&self) -> Response<Body> {
        let (status, text) = match self.clock.now() >= self.ready_at {
            true => (StatusCode::OK, "ready\n"),
            false => (StatusCode::SERVICE_UNAVAILABLE, "not yet\n"),
        };
        let mut response = Response::new(Body::new(body::full(text), None));
        *response.status_mut() = status;
        response
    }

    /// The work that a request is.
    async fn work(&self) {
        let time = self.service_time;
        let time = time.unwrap_or_else(|| self.settings.get().service_time);
        if !time.is_zero() {
            self.clock.sleep(time).await;
        }
    }
}
