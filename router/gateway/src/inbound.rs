//! The client's request body, of which a part may already have been read.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::Body;
use hyper::body::Incoming;

/// Bytes of one request that are read while it waits.
const MOST_PER_REQUEST: usize = 1024 * 1024;
/// Bytes of all waiting requests together.
const MOST_IN_ALL: usize = 64 * 1024 * 1024;

/// The client broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InboundError;

/// Why a body cannot be read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotWhole {
    Left,
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
    held: Held,
}

impl Inbound {
    pub(crate) fn new(incoming: Incoming, budget: &Arc<ReadAhead>) -> Self {
        Inbound {
            ahead: VecDeque::new(),
            trailers: None,
            ended: incoming.is_end_stream(),
            incoming,
            held: Held {
                bytes: 0,
                budget: budget.clone(),
            },
        }
    }

    /// The next piece; `None` at the end.
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Piece, InboundError>>> {
        if let Some(bytes) = self.ahead.pop_front() {
            self.held.release(bytes.len());
            return Poll::Ready(Some(Ok(Piece::Data(bytes))));
        }
        if let Some(trailers) = self.trailers.take() {
            return Poll::Ready(Some(Ok(Piece::Trailers(trailers))));
        }
        self.poll_incoming(cx)
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
            Some(Err(_)) => Poll::Ready(Some(Err(InboundError))),
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

    /// Reads the whole body of at most `most` bytes, for those who must look
    /// into it.
    ///
    /// # Errors
    /// See [`NotWhole`].
    pub(crate) async fn read_whole(&mut self, most: usize) -> Result<Vec<u8>, NotWhole> {
        let read = std::future::poll_fn(|cx| self.poll_ahead(cx, most + 1)).await;
        read.map_err(|InboundError| NotWhole::Left)?;
        if self.held.bytes > most {
            return Err(NotWhole::TooLarge);
        }
        if !self.ended {
            return Err(NotWhole::NoRoom);
        }
        Ok(self.ahead.iter().flatten().copied().collect())
    }

    /// Ready when all was read, or as much as is allowed.
    fn poll_ahead(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<Result<(), InboundError>> {
        while !self.ended && self.held.bytes < most && self.held.within_budget() {
            match ready!(self.poll_incoming(cx)) {
                None => {}
                Some(Err(error)) => return Poll::Ready(Err(error)),
                Some(Ok(Piece::Data(data))) => {
                    self.held.take(data.len());
                    // A copy: the piece itself keeps the connection's whole buffer.
                    self.ahead.push_back(Bytes::copy_from_slice(&data));
                }
                Some(Ok(Piece::Trailers(trailers))) => {
                    self.trailers = Some(trailers);
                    self.ended = true;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// How much all waiting requests have read ahead.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead(AtomicUsize);

/// What one request has read ahead; given back when dropped.
struct Held {
    bytes: usize,
    budget: Arc<ReadAhead>,
}

impl Held {
    fn take(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.budget.0.fetch_add(bytes, Ordering::Relaxed);
    }

    fn release(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.budget.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn within_budget(&self) -> bool {
        self.budget.0.load(Ordering::Relaxed) < MOST_IN_ALL
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
