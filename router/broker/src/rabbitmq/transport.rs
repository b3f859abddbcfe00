use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use async_rs::Runtime;
use async_rs::traits::Reactor;
use async_rs::util::RuntimeParts;
use futures_util::{Stream, io as futures_io};
use lapin::AsyncTcpStream;
use lapin::uri::{AMQPScheme, AMQPUri};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::ConfigVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The bytes of a connection, plain or over TLS. Cutting it ends whatever reads
/// or writes it, however silent the other side is: without that, what waits for
/// a broker that stalls could never be ended.
pub(super) struct Transport {
    io: Io,
    cut: CancellationToken,
    when_cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

enum Io {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Transport {
    /// Connects to where `uri` points, unless it is cut before.
    pub(super) async fn connect(uri: &AMQPUri, cut: &CancellationToken) -> io::Result<Self> {
        let io = tokio::select! {
            () = cut.cancelled() => return Err(io::ErrorKind::ConnectionAborted.into()),
            io = Io::connect(uri) => io?,
        };
        Ok(Transport {
            io,
            when_cut: Box::pin(cut.clone().cancelled_owned()),
            cut: cut.clone(),
        })
    }

    /// In the shape that the AMQP library takes.
    pub(super) fn into_stream(self) -> AsyncTcpStream<Compat<Self>> {
        AsyncTcpStream::Plain(self.compat())
    }
}

impl Io {
    async fn connect(uri: &AMQPUri) -> io::Result<Self> {
        let host = uri.authority.host.trim_matches(['[', ']']);
        let tcp = TcpStream::connect((host, uri.authority.port)).await?;
        tcp.set_nodelay(true)?;
        match uri.scheme {
            AMQPScheme::AMQP => Ok(Io::Plain(tcp)),
            AMQPScheme::AMQPS => Ok(Io::Tls(Box::new(handshake(tcp, host).await?))),
        }
    }
}

async fn handshake(tcp: TcpStream, host: &str) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let config = ClientConfig::with_platform_verifier().map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.when_cut.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_read(cx, buf),
            Io::Tls(io) => Pin::new(io.as_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.cut.is_cancelled() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_write(cx, buf),
            Io::Tls(io) => Pin::new(io.as_mut()).poll_write(cx, buf),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_flush(cx),
            Io::Tls(io) => Pin::new(io.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Io::Tls(io) => Pin::new(io.as_mut()).poll_shutdown(cx),
        }
    }
}

/// The runtime that the AMQP library runs on: tokio, over a [`Transport`].
pub(super) fn runtime() -> Runtime<RuntimeParts<async_rs::Tokio, OverTransport>> {
    let tokio = async_rs::Tokio::current();
    let reactor = OverTransport(tokio.clone());
    Runtime::new(RuntimeParts::new(tokio, reactor))
}

/// Tokio's timers, and [`Transport`] for connections.
#[derive(Clone, Debug)]
pub(super) struct OverTransport(async_rs::Tokio);

impl Reactor for OverTransport {
    type TcpStream = Compat<Transport>;
    type Sleep = <async_rs::Tokio as Reactor>::Sleep;

    /// Nothing else is ever waited for.
    fn register<H: io::Read + io::Write + AsFd + AsRawFd + Send + 'static>(
        &self,
        _: H,
    ) -> io::Result<impl futures_io::AsyncRead + futures_io::AsyncWrite + Send + Unpin + 'static>
    {
        Err::<Self::TcpStream, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn interval(&self, period: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.0.interval(period)
    }

    /// Connections are made by [`Transport::connect`] alone.
    fn tcp_connect_addr(
        &self,
        _: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        std::future::ready(Err(io::ErrorKind::Unsupported.into()))
    }
}
