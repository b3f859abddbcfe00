//! The backend that every target forwards to: as light as it can be.
//!
//! | request | answer |
//! |---|---|
//! | `GET …/sse?n=N&gap_us=G` | N events, G µs apart; 0 means at once, one write each |
//! | `GET …/download?bytes=N` | N bytes, with a content-length |
//! | anything else | the body is read and thrown away; JSON saying how many bytes it had |

mod answer;
mod events;
mod route;

use std::net::SocketAddr;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, http};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::error::BenchError;
use answer::Answer;
use events::Events;
use route::Route;

/// Per connection at most: a large one would take the processors' caches from the proxies.
const BUFFER: usize = 128 << 10;

/// A backend that is listening and not yet serving.
#[derive(Debug)]
pub struct Origin(TcpListener);

impl Origin {
    /// Listens on `address`; port 0 takes a free one. Fails if it is taken.
    pub async fn bind(address: SocketAddr) -> Result<Self, BenchError> {
        let listener = TcpListener::bind(address).await;
        listener
            .map(Origin)
            .map_err(BenchError::machine("listening"))
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr, BenchError> {
        self.0
            .local_addr()
            .map_err(BenchError::machine("asking for the port"))
    }

    /// Serves until it is dropped; ends only if the listener breaks.
    pub async fn serve(self) -> Result<(), BenchError> {
        loop {
            let (stream, _) = self
                .0
                .accept()
                .await
                .map_err(BenchError::machine("accepting"))?;
            tokio::spawn(converse(stream));
        }
    }
}

/// A connection's end is the client's affair: errors show there, as failed requests.
async fn converse(stream: TcpStream) {
    if stream.set_nodelay(true).is_ok() {
        let service = service_fn(reply);
        let mut server = http1::Builder::new();
        server.max_buf_size(BUFFER);
        let _ = server.serve_connection(TokioIo::new(stream), service).await;
    }
}

async fn reply(request: Request<Incoming>) -> Result<Response<Answer>, http::Error> {
    match Route::of(request.uri()) {
        Route::Events { count, gap } => stream(Answer::Events(Events::new(count, gap))),
        Route::Download { bytes } => Response::builder().body(Answer::Bulk(bytes)),
        Route::Work => {
            let (received, whole) = drain(request.into_body()).await;
            Response::builder()
                .header("content-type", "application/json")
                .body(receipt(received, whole))
        }
    }
}

fn stream(events: Answer) -> Result<Response<Answer>, http::Error> {
    let builder = Response::builder().header("content-type", "text/event-stream");
    builder.header("cache-control", "no-cache").body(events)
}

/// About 100 bytes, as a small model's answer has.
fn receipt(received: u64, whole: bool) -> Answer {
    let text = format!(
        r#"{{"received":{received},"whole":{whole},"model":"bench","choices":[{{"index":0,"text":"an answer of one line"}}]}}"#
    );
    Answer::Text(text.into())
}

/// Reads a body to its end and says how long it was, and whether it ended well.
async fn drain(mut body: Incoming) -> (u64, bool) {
    let mut received = 0;
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => received += frame.data_ref().map_or(0, |data| data.len() as u64),
            Err(_) => return (received, false),
        }
    }
    (received, true)
}
