use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use thiserror::Error;

use crate::inbound::InboundError;

use super::{Connection, Decoded, Decoder, ResponseHead, Upload};

/// What went wrong between us and a backend.
#[derive(Debug, Error)]
pub(crate) enum ExchangeError {
    #[error("the backend cannot be reached")]
    Connect(#[source] io::Error),
    #[error("the backend's address is not allowed")]
    Forbidden,
    #[error("the backend closed before its response")]
    ClosedEarly,
    #[error("the backend's connection broke while reading")]
    Read(#[source] io::Error),
    #[error("the backend's connection broke while writing")]
    Write(#[source] io::Error),
    #[error("the backend's response is malformed")]
    Malformed,
    #[error("the backend's response ends before its end")]
    Truncated,
    #[error("the request's body broke off")]
    Client(InboundError),
    #[error("the request's body is larger than allowed")]
    TooLarge,
    #[error("no byte moved for too long")]
    Idle,
    #[error("the deadline passed")]
    Deadline,
    #[error("an operator cancelled the request")]
    Cancelled,
}

/// One request and its response on one connection.
pub(crate) struct Exchange {
    pub(crate) connection: Connection,
    upload: Upload,
    /// The upload's end: sent whole, or given up because the backend stopped reading.
    upload_over: bool,
    upload_broke: bool,
    decoder: Decoder,
    keep_alive: bool,
}

/// A piece of the response's body.
pub(crate) enum BodyPiece {
    Data(Bytes),
    Trailers(HeaderMap),
}

impl Exchange {
    pub(crate) fn new(connection: Connection, upload: Upload) -> Self {
        Exchange {
            connection,
            upload,
            upload_over: false,
            upload_broke: false,
            decoder: Decoder::Empty,
            keep_alive: false,
        }
    }

    /// Whether anything of the request was written.
    pub(crate) fn wrote(&self) -> bool {
        self.upload.wrote()
    }

    /// Whether anything of a response was read.
    pub(crate) fn heard(&self) -> bool {
        !self.connection.unread.is_empty()
    }

    /// The request's body, for another try; only where nothing was taken off it.
    pub(crate) fn into_untouched_body(self) -> Option<crate::inbound::Inbound> {
        self.upload.into_untouched_body()
    }

    /// Whether all that was sent of the request's body is kept.
    pub(crate) fn keeps_body(&self) -> bool {
        self.upload.body().keeps_given()
    }

    /// What was sent of the request's body is not needed any more.
    pub(crate) fn forget_body(&mut self) {
        self.upload.body_mut().forget_given();
    }

    /// The request's body with what was sent and kept of it, for another backend.
    pub(crate) fn into_kept_body(self) -> crate::inbound::Inbound {
        self.upload.into_body().whole_again()
    }

    /// The exact length of the response's body, where it is known.
    pub(crate) fn remaining(&self) -> Option<u64> {
        self.decoder.remaining()
    }

    /// Sends the request and reads the response's head; other 1xx are skipped.
    pub(crate) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        method: &Method,
    ) -> Poll<Result<ResponseHead, ExchangeError>> {
        self.poll_upload(cx)?;
        loop {
            if self.heard()
                && let Some(head) = ResponseHead::parse(&mut self.connection.unread)?
            {
                if head.status == StatusCode::SWITCHING_PROTOCOLS {
                    return Poll::Ready(Ok(head));
                }
                if head.status == StatusCode::CONTINUE {
                    self.upload.release();
                    self.poll_upload(cx)?;
                }
                if head.status.is_informational() {
                    continue;
                }
                self.decoder = head.decoder(method)?;
                self.keep_alive = head.keep_alive;
                return Poll::Ready(Ok(head));
            }
            let read = ready!(self.connection.poll_fill(cx));
            match read.map_err(ExchangeError::Read)? {
                0 => return Poll::Ready(Err(ExchangeError::ClosedEarly)),
                _ => continue,
            }
        }
    }

    /// The next piece of the response's body; `None` at its end.
    pub(crate) fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyPiece, ExchangeError>>> {
        if let Err(error) = self.poll_upload(cx) {
            return Poll::Ready(Some(Err(error)));
        }
        loop {
            match self.decoder.decode(&mut self.connection.unread) {
                Ok(Decoded::Data(data)) => return Poll::Ready(Some(Ok(BodyPiece::Data(data)))),
                Ok(Decoded::Trailers(map)) => {
                    return Poll::Ready(Some(Ok(BodyPiece::Trailers(map))));
                }
                Ok(Decoded::End) => return Poll::Ready(None),
                Ok(Decoded::More) => {}
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
            match ready!(self.connection.poll_fill(cx)) {
                Ok(0) if self.decoder.may_end() => return Poll::Ready(None),
                Ok(0) => return Poll::Ready(Some(Err(ExchangeError::Truncated))),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Some(Err(ExchangeError::Read(error)))),
            }
        }
    }

    /// Whether the whole exchange is over and the connection can be used again.
    pub(crate) fn is_reusable(&self) -> bool {
        self.keep_alive
            && self.upload.is_done()
            && !self.upload_broke
            && self.connection.unread.is_empty()
            && !matches!(self.decoder, Decoder::UntilClose)
    }

    /// Goes on sending; a backend that stops reading may still have answered.
    fn poll_upload(&mut self, cx: &mut Context<'_>) -> Result<(), ExchangeError> {
        if self.upload_over {
            return Ok(());
        }
        match self.upload.poll_send(cx, &mut self.connection.io) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => self.upload_over = true,
            Poll::Ready(Err(ExchangeError::Write(error))) if !self.upload.wrote() => {
                return Err(ExchangeError::Write(error));
            }
            Poll::Ready(Err(ExchangeError::Write(_))) => {
                self.upload_over = true;
                self.upload_broke = true;
            }
            Poll::Ready(Err(error)) => return Err(error),
        }
        Ok(())
    }
}
