use std::io;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use tokio::net::TcpStream;

/// More than any head or line of a test needs.
const MOST_UNPARSED: usize = 256 << 10;
/// How much is asked of the socket at a time.
const READ_SIZE: usize = 64 << 10;

/// The length of the head at the front of some bytes, and the head.
pub(crate) type Parsed<T> = io::Result<Option<(usize, T)>>;

/// Bytes coming in: what was read and not yet taken, then the socket.
///
/// A call that is dropped half-way takes nothing.
#[derive(Debug)]
pub(crate) struct Inbound {
    stream: Arc<TcpStream>,
    unread: BytesMut,
}

impl Inbound {
    pub(crate) fn new(stream: Arc<TcpStream>) -> Self {
        let unread = BytesMut::with_capacity(READ_SIZE);
        Inbound { stream, unread }
    }

    /// Reads what there is; 0 is the end.
    pub(crate) async fn fill(&mut self) -> io::Result<usize> {
        self.unread.reserve(READ_SIZE);
        loop {
            self.stream.readable().await?;
            match self.stream.try_read_buf(&mut self.unread) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }

    /// Whether something was read that nobody took.
    pub(crate) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// The next head; `None` when the peer ended before its first byte.
    pub(crate) async fn head<T>(&mut self, parse: fn(&[u8]) -> Parsed<T>) -> io::Result<Option<T>> {
        loop {
            if let Some((length, head)) = parse(&self.unread)? {
                self.unread.advance(length);
                return Ok(Some(head));
            }
            self.refuse_endless()?;
            if self.fill().await? == 0 {
                return if self.has_unread() {
                    Err(cut())
                } else {
                    Ok(None)
                };
            }
        }
    }

    /// The next line without its CRLF.
    pub(crate) async fn line(&mut self) -> io::Result<Bytes> {
        loop {
            if let Some(at) = self.unread.windows(2).position(|w| w == b"\r\n") {
                let line = self.unread.split_to(at).freeze();
                self.unread.advance(2);
                return Ok(line);
            }
            self.refuse_endless()?;
            self.more().await?;
        }
    }

    /// Between 1 and `most` bytes, as soon as there are any; `None` at the end.
    pub(crate) async fn some(&mut self, most: u64) -> io::Result<Option<Bytes>> {
        if !self.has_unread() && self.fill().await? == 0 {
            return Ok(None);
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let taken = self.unread.len().min(most);
        Ok(Some(self.unread.split_to(taken).freeze()))
    }

    /// Exactly `length` bytes.
    pub(crate) async fn exactly(&mut self, length: usize) -> io::Result<Bytes> {
        self.at_least(length).await?;
        Ok(self.unread.split_to(length).freeze())
    }

    /// The first `length` bytes, left in place.
    pub(crate) async fn peek(&mut self, length: usize) -> io::Result<&[u8]> {
        self.at_least(length).await?;
        Ok(&self.unread[..length])
    }

    /// Ends when the peer does, whatever it sends until then.
    pub(crate) async fn ended(&mut self) {
        while matches!(self.fill().await, Ok(read) if read > 0) {}
    }

    async fn at_least(&mut self, length: usize) -> io::Result<()> {
        while self.unread.len() < length {
            self.more().await?;
        }
        Ok(())
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.fill().await? {
            0 => Err(cut()),
            _ => Ok(()),
        }
    }

    fn refuse_endless(&self) -> io::Result<()> {
        if self.unread.len() < MOST_UNPARSED {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "endless head"))
    }
}

fn cut() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}
