use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::TcpStream as StdStream;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use pin_project_lite::pin_project;
use thermocline_clock::Clock;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::framing::unless_ambiguous;
use crate::io::EdgeIo;
use crate::phase::{Phase, Serving};
use crate::signal::Signal;

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// From the first byte of a head to its last, and from accept to the first byte.
    pub head: Duration,
    /// Between two requests.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
        }
    }
}

/// When connections end by our own doing.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    /// No new work on idle connections; work in hand ends whole.
    pub drain: CancellationToken,
    /// Everything ends now.
    pub abort: CancellationToken,
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const LARGEST_HEAD: usize = 32 * 1024;

/// Serves HTTP/1.1 or prior-knowledge HTTP/2 on `stream` until it ends.
pub async fn serve_connection<S, B>(
    stream: StdStream,
    service: S,
    timeouts: Timeouts,
    lifecycle: Lifecycle,
    clock: Clock,
) where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Send,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let served = serve(stream, service, timeouts, &lifecycle, &clock);
    let ended = Signal::of(&lifecycle.abort).unless(pin!(served)).await;
    if let Some(Err(error)) = ended {
        tracing::debug!(%error, "a client's connection ended");
    }
}

async fn serve<S, B>(
    stream: StdStream,
    service: S,
    timeouts: Timeouts,
    lifecycle: &Lifecycle,
    clock: &Clock,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Send,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut stream = TcpStream::from_std(stream)?;
    let told_apart = tokio::select! {
        () = lifecycle.drain.cancelled() => return Ok(()),
        read = clock.timeout_at(clock.now() + timeouts.head, first_bytes(&mut stream)) => read,
    };
    let first = told_apart.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let h2 = first.starts_with(PREFACE);
    let first = if h2 { first } else { unless_ambiguous(first) };
    let phase = Phase::new(h2, clock);
    let drain = lifecycle.drain.clone();
    let io = EdgeIo::new(stream, first, clock.clone(), phase.clone(), timeouts, drain);
    let service = Phased {
        service,
        phase: (!h2).then_some(phase),
    };
    if h2 {
        // Boxed: an HTTP/1.1 connection should not carry the room for it.
        return Box::pin(serve_http2(io, service, timeouts, lifecycle)).await;
    }
    let connection = http1::Builder::new()
        .max_buf_size(LARGEST_HEAD)
        .max_headers(100)
        .pipeline_flush(false)
        .serve_connection(io, service)
        .with_upgrades();
    let mut connection = pin!(connection);
    if let Some(result) = Signal::of(&lifecycle.drain)
        .unless(connection.as_mut())
        .await
    {
        return Ok(result?);
    }
    connection.as_mut().graceful_shutdown();
    Ok(connection.await?)
}

async fn serve_http2<S, B>(
    io: EdgeIo,
    service: Phased<S>,
    timeouts: Timeouts,
    lifecycle: &Lifecycle,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Send,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(timeouts.idle))
        .max_concurrent_streams(256)
        .max_header_list_size(32 * 1024)
        .serve_connection(io, service);
    let mut connection = pin!(connection);
    let ended = Signal::of(&lifecycle.drain).unless(connection.as_mut());
    if let Some(result) = ended.await {
        return Ok(result?);
    }
    connection.as_mut().graceful_shutdown();
    Ok(connection.await?)
}

/// Reads until it is certain whether the client speaks HTTP/2.
async fn first_bytes(stream: &mut TcpStream) -> io::Result<Bytes> {
    let mut first = BytesMut::with_capacity(2 * 1024);
    loop {
        if stream.read_buf(&mut first).await? == 0 {
            return Ok(first.freeze());
        }
        let seen = first.len().min(PREFACE.len());
        if seen == PREFACE.len() || first[..seen] != PREFACE[..seen] {
            return Ok(first.freeze());
        }
    }
}

/// Tells the connection when it is within a request.
struct Phased<S> {
    service: S,
    phase: Option<Phase>,
}

impl<S, B> Service<Request<Incoming>> for Phased<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
{
    type Response = Response<PhasedBody<B>>;
    type Error = Infallible;
    type Future = PhasedFuture<S::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let serving = self.phase.clone().map(Serving::begin);
        PhasedFuture {
            future: self.service.call(request),
            serving,
        }
    }
}

pin_project! {
    struct PhasedFuture<F> {
        #[pin]
        future: F,
        serving: Option<Serving>,
    }
}

impl<F, B> Future for PhasedFuture<F>
where
    F: Future<Output = Result<Response<B>, Infallible>>,
{
    type Output = Result<Response<PhasedBody<B>>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        this.future.poll(cx).map_ok(|response| {
            let mut serving = this.serving.take();
            if response.status() == StatusCode::SWITCHING_PROTOCOLS
                && let Some(serving) = serving.take()
            {
                serving.for_good();
            }
            response.map(|body| PhasedBody { body, serving })
        })
    }
}

pin_project! {
    struct PhasedBody<B> {
        #[pin]
        body: B,
        serving: Option<Serving>,
    }
}

impl<B: Body> Body for PhasedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
