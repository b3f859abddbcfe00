use std::future::Future;
use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::within;
use super::{Body, Chunk, ClientError, Ended};
use crate::http1::{Headers, now};
use crate::watched::PATIENCE;

/// One HTTP/2 connection with prior knowledge.
#[derive(Debug)]
pub struct Http2Client {
    requests: http2::SendRequest<Full<Bytes>>,
    /// Ends the tasks that hold the socket.
    _connection: DropGuard,
}

/// Runs the library's tasks until the client is dropped.
#[derive(Debug, Clone)]
struct UntilDropped(CancellationToken);

impl<F: Future<Output: Send> + Send + 'static> hyper::rt::Executor<F> for UntilDropped {
    fn execute(&self, task: F) {
        let dropped = self.0.clone();
        // How it ends shows in the streams.
        tokio::spawn(async move { drop(dropped.run_until_cancelled(task).await) });
    }
}

/// A response whose body is still to be read; dropping it resets the stream.
#[derive(Debug)]
pub struct Http2Response {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: http::HeaderMap,
    body: Incoming,
    trailers: Headers,
}

impl Http2Client {
    /// Connects and speaks HTTP/2 from the first byte.
    ///
    /// # Errors
    /// When the peer refuses the connection or the protocol.
    pub async fn connect(peer: SocketAddr) -> Result<Self, ClientError> {
        let stream = TcpStream::connect(peer).await?;
        stream.set_nodelay(true)?;
        let io = TokioIo::new(stream);
        let dropped = CancellationToken::new();
        let tasks = UntilDropped(dropped.clone());
        let (requests, connection) = http2::handshake(tasks.clone(), io).await?;
        hyper::rt::Executor::execute(&tasks, connection);
        Ok(Http2Client {
            requests,
            _connection: dropped.drop_guard(),
        })
    }

    /// Sends a request, whose URI must be absolute, and waits for the head.
    ///
    /// # Errors
    /// [`ClientError::Http2`] when the stream is reset instead.
    pub async fn send(
        &mut self,
        request: http::Request<Bytes>,
    ) -> Result<Http2Response, ClientError> {
        within(PATIENCE, self.requests.ready()).await?;
        let request = request.map(Full::new);
        let response = within(PATIENCE, self.requests.send_request(request)).await?;
        let (head, body) = response.into_parts();
        Ok(Http2Response {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
            trailers: Headers::default(),
        })
    }
}

impl Http2Response {
    /// The next piece of the body, as soon as it arrives; `None` at its end.
    ///
    /// # Errors
    /// [`ClientError::Http2`] when the stream was reset.
    pub async fn read_chunk(&mut self) -> Result<Option<Chunk>, ClientError> {
        while let Some(frame) = self.next_frame().await? {
            match frame.into_data() {
                Ok(bytes) => return Ok(Some(Chunk { bytes, at: now() })),
                Err(other) => self.keep_trailers(other.into_trailers().ok()),
            }
        }
        Ok(None)
    }

    /// The rest of the body.
    ///
    /// # Errors
    /// When it stands still; one that was reset is none.
    pub async fn read_body(mut self) -> Result<Body, ClientError> {
        let mut bytes = BytesMut::new();
        let ended = loop {
            match self.read_chunk().await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk.bytes),
                Ok(None) => break Ended::Clean,
                Err(ClientError::Http2(_)) => break Ended::Aborted,
                Err(error) => return Err(error),
            }
        };
        Ok(Body {
            bytes: bytes.freeze(),
            trailers: self.trailers,
            ended,
        })
    }

    async fn next_frame(&mut self) -> Result<Option<hyper::body::Frame<Bytes>>, ClientError> {
        let frame = async { self.body.frame().await.transpose() };
        within(PATIENCE, frame).await
    }

    fn keep_trailers(&mut self, trailers: Option<http::HeaderMap>) {
        for (name, value) in trailers.iter().flatten() {
            let name = Bytes::copy_from_slice(name.as_str().as_bytes());
            self.trailers
                .push(name, Bytes::copy_from_slice(value.as_bytes()));
        }
    }
}
