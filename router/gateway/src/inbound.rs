//! The client's request body, of which a part may already have been read.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::Body;
use hyper::body::Incoming;

/// Bytes of one request that are read while it waits.
const MOST_PER_REQUEST: usize = 1024 * 1024;
/// Bytes of one request that are kept after they were sent, until its response begins.
const MOST_GIVEN: usize = 64 * 1024;
/// Bytes of a piece that are copied to be kept: it costs less than a request's id.
const MOST_COPIED: usize = 2 * 1024;
/// Bytes of all waiting requests, and kept ones, together.
const MOST_IN_ALL: usize = 64 * 1024 * 1024;

/// Why no more of a body comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InboundError {
    /// The client left.
    Left,
    /// What came is not framed as it should be.
    Malformed,
}

impl InboundError {
    /// A connection that broke says so; anything else is wrong in what came.
    fn of(error: &hyper::Error) -> Self {
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            if let Some(io) = cause.downcast_ref::<io::Error>() {
                return match io.kind() {
                    io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Self::Malformed,
                    _ => Self::Left,
                };
            }
            source = cause.source();
        }
        Self::Left
    }
}

/// Why a body cannot be read for what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    Broken(InboundError),
    /// It is larger than the reader wants.
    TooLarge,
    /// All that is kept of bodies together is as much as may be.
    NoRoom,
}

/// A piece of a request's body.
pub(crate) enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
}

/// A request's body: first what was read ahead, then what comes.
pub(crate) struct Inbound {
    ahead: VecDeque<Bytes>,
    trailers: Option<HeaderMap>,
    incoming: Incoming,
    ended: bool,
    /// What was given out of it; `None` where that is not kept.
    given: Option<Vec<Bytes>>,
    held: Held,
}

impl Inbound {
    pub(crate) fn new(incoming: Incoming) -> Self {
        Inbound {
            ahead: VecDeque::new(),
            trailers: None,
            ended: incoming.is_end_stream(),
            incoming,
            given: None,
            held: Held { bytes: 0 },
        }
    }

    /// Whether there is no more of it.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// The next piece; `None` at the end.
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Piece, InboundError>>> {
        let piece = match self.ahead.pop_front() {
            Some(bytes) => {
                self.held.release(bytes.len());
                Some(Ok(Piece::Data(bytes)))
            }
            None => match self.trailers.take() {
                Some(trailers) => Some(Ok(Piece::Trailers(trailers))),
                None => ready!(self.poll_incoming(cx)),
            },
        };
        if let (Some(Ok(piece)), true) = (&piece, self.keeps_given()) {
            self.keep_given(piece);
        }
        Poll::Ready(piece)
    }

    /// The same body, of which what is given out from now on is kept within bounds.
    pub(crate) fn keeping_given(mut self) -> Self {
        self.given.get_or_insert_default();
        self
    }

    /// Whether all that was given out is kept.
    pub(crate) fn keeps_given(&self) -> bool {
        self.given.is_some()
    }

    /// Keeps what was given out no more.
    pub(crate) fn forget_given(&mut self) {
        let given = self.given.take().unwrap_or_default();
        self.held.release(given.iter().map(Bytes::len).sum());
    }

    /// The body with what was given out of it, and kept, before the rest.
    pub(crate) fn whole_again(mut self) -> Self {
        for bytes in self.given.take().unwrap_or_default().into_iter().rev() {
            self.ahead.push_front(bytes);
        }
        self
    }

    /// Keeps a piece that is given out; what is too large, or has trailers, is not
    /// kept at all.
    fn keep_given(&mut self, piece: &Piece) {
        let fits = |bytes: &Bytes, given: &[Bytes]| {
            given.iter().map(Bytes::len).sum::<usize>() + bytes.len() <= MOST_GIVEN
        };
        match (piece, &mut self.given) {
            (Piece::Data(bytes), Some(given))
                if fits(bytes, given) && self.held.within_budget() =>
            {
                self.held.take(bytes.len());
                given.push(kept(bytes));
            }
            _ => self.forget_given(),
        }
    }

    fn poll_incoming(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Piece, InboundError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match ready!(Pin::new(&mut self.incoming).poll_frame(cx)) {
            None => {
                self.ended = true;
                Poll::Ready(None)
            }
            Some(Err(error)) => Poll::Ready(Some(Err(InboundError::of(&error)))),
            Some(Ok(frame)) => {
                let piece = match frame.into_data() {
                    Ok(data) => Piece::Data(data),
                    Err(frame) => Piece::Trailers(frame.into_trailers().unwrap_or_default()),
                };
                Poll::Ready(Some(Ok(piece)))
            }
        }
    }

    /// Reads ahead within the bounds, so that a client that leaves is noticed;
    /// never ends, since there is nothing to wait for.
    ///
    /// # Errors
    /// When the client broke off.
    pub(crate) async fn read_ahead(&mut self) -> InboundError {
        let left = std::future::poll_fn(|cx| self.poll_ahead(cx, MOST_PER_REQUEST)).await;
        match left {
            Err(error) => error,
            Ok(()) => std::future::pending().await,
        }
    }

    /// Reads ahead, at most `most` bytes, until `done` says so of a piece or the
    /// body has ended.
    ///
    /// # Errors
    /// See [`Unread`].
    pub(crate) async fn read_until(
        &mut self,
        most: usize,
        mut done: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), Unread> {
        while !self.ended {
            if self.held.bytes > most {
                return Err(Unread::TooLarge);
            }
            if !self.held.within_budget() {
                return Err(Unread::NoRoom);
            }
            let next = std::future::poll_fn(|cx| self.poll_incoming(cx)).await;
            let piece = next.transpose().map_err(Unread::Broken)?;
            let bytes = piece.and_then(|piece| self.keep(piece));
            if bytes.is_some_and(&mut done) {
                return Ok(());
            }
        }
        match self.held.bytes > most {
            true => Err(Unread::TooLarge),
            false => Ok(()),
        }
    }

    /// Keeps a piece for later; its bytes, if it has any.
    fn keep(&mut self, piece: Piece) -> Option<&[u8]> {
        match piece {
            Piece::Data(data) => {
                self.held.take(data.len());
                // A copy: the piece itself keeps the connection's whole buffer.
                self.ahead.push_back(Bytes::copy_from_slice(&data));
                self.ahead.back().map(|bytes| &bytes[..])
            }
            Piece::Trailers(trailers) => {
                self.trailers = Some(trailers);
                self.ended = true;
                None
            }
        }
    }

    /// Ready when all was read, or as much as is allowed.
    fn poll_ahead(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<Result<(), InboundError>> {
        while !self.ended && self.held.bytes < most && self.held.within_budget() {
            match ready!(self.poll_incoming(cx)) {
                None => {}
                Some(Err(error)) => return Poll::Ready(Err(error)),
                Some(Ok(piece)) => drop(self.keep(piece)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// What is kept of a piece that goes out at once: another reference to a large one, a
/// copy of a small one, which would keep a connection's whole buffer.
fn kept(bytes: &Bytes) -> Bytes {
    match bytes.len() > MOST_COPIED {
        true => bytes.clone(),
        false => Bytes::copy_from_slice(bytes),
    }
}

/// How many bytes all waiting requests of this process have read ahead.
static READ_AHEAD: AtomicUsize = AtomicUsize::new(0);

/// What one request has read ahead; given back when dropped.
struct Held {
    bytes: usize,
}

impl Held {
    fn take(&mut self, bytes: usize) {
        self.bytes += bytes;
        READ_AHEAD.fetch_add(bytes, Ordering::Relaxed);
    }

    fn release(&mut self, bytes: usize) {
        self.bytes -= bytes;
        READ_AHEAD.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn within_budget(&self) -> bool {
        READ_AHEAD.load(Ordering::Relaxed) < MOST_IN_ALL
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.bytes > 0 {
            READ_AHEAD.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}
