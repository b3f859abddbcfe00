use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use thermocline_clock::Alarm;
use thermocline_table::BackendId;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_util::io::poll_read_buf;

/// The first read of a response, and the largest.
const FIRST_READ: usize = 8 * 1024;
const LARGEST_READ: usize = 128 * 1024;

/// A byte stream to a backend.
pub(crate) enum UpstreamIo {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection to a backend with what has been read but not used.
pub(crate) struct Connection {
    pub(crate) io: UpstreamIo,
    pub(crate) unread: BytesMut,
    pub(crate) backend: BackendId,
    /// Whether it has carried a request before.
    pub(crate) reused: bool,
    next_read: usize,
    /// Goes from request to request with it.
    pub(crate) alarm: Alarm,
}

impl Connection {
    pub(crate) fn new(io: UpstreamIo, backend: BackendId) -> Self {
        Connection {
            io,
            unread: BytesMut::new(),
            backend,
            reused: false,
            next_read: FIRST_READ,
            alarm: Alarm::default(),
        }
    }

    /// Reads more into `unread`; 0 = the backend closed.
    pub(crate) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.unread.capacity() - self.unread.len() < self.next_read / 4 {
            // A backend that thinks takes no memory.
            if let UpstreamIo::Plain(tcp) = &self.io {
                ready!(tcp.poll_read_ready(cx))?;
            }
            self.unread.reserve(self.next_read);
        }
        let room = self.unread.capacity() - self.unread.len();
        let result = poll_read_buf(Pin::new(&mut self.io), cx, &mut self.unread);
        if let Poll::Ready(Ok(n)) = result {
            self.next_read = match n == room {
                true => (self.next_read * 2).min(LARGEST_READ),
                false => (self.next_read / 2).max(FIRST_READ),
            };
        }
        result
    }

    /// Whether an idle connection can carry another request: nothing unread,
    /// and the backend has not closed it.
    pub(crate) fn is_quiet(&mut self) -> bool {
        if !self.unread.is_empty() {
            return false;
        }
        let mut cx = Context::from_waker(std::task::Waker::noop());
        match &mut self.io {
            UpstreamIo::Plain(tcp) => match tcp.poll_read_ready(&mut cx) {
                Poll::Pending => true,
                Poll::Ready(_) => {
                    let mut byte = [0; 1];
                    matches!(tcp.try_read(&mut byte), Err(e) if e.kind() == io::ErrorKind::WouldBlock)
                }
            },
            UpstreamIo::Tls(_) => self.poll_fill(&mut cx).is_pending(),
        }
    }

    /// Takes the connection apart: the stream, and what was read already.
    pub(crate) fn into_parts(self) -> (UpstreamIo, Bytes) {
        (self.io, self.unread.freeze())
    }
}

impl AsyncRead for UpstreamIo {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            UpstreamIo::Plain(io) => Pin::new(io).poll_read(cx, buf),
            UpstreamIo::Tls(io) => Pin::new(io).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for UpstreamIo {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            UpstreamIo::Plain(io) => Pin::new(io).poll_write(cx, buf),
            UpstreamIo::Tls(io) => Pin::new(io).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            UpstreamIo::Plain(io) => Pin::new(io).poll_write_vectored(cx, bufs),
            UpstreamIo::Tls(io) => Pin::new(io).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            UpstreamIo::Plain(io) => Pin::new(io).poll_flush(cx),
            UpstreamIo::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            UpstreamIo::Plain(io) => Pin::new(io).poll_shutdown(cx),
            UpstreamIo::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}
