//! The response's body: an answer of ours, or a backend's as it comes.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use thermocline_clock::{Alarm, Clock};
use thermocline_policy::Moment;
use thermocline_table::{Ongoing, Outcome};
use thiserror::Error;

use crate::refusal::Refusal;
use crate::settle::Settlement;
use crate::upstream::{BodyPiece, Exchange, ExchangeError, checkin};

/// What the client's connection is told when a response cannot go on: it is
/// broken off, so that nobody takes a part for the whole.
#[derive(Debug, Error)]
#[error("the response was broken off")]
pub(crate) struct BrokenOff;

/// A response's body.
pub(crate) struct ResponseBody(Kind);

enum Kind {
    Fixed(Option<Bytes>),
    Streaming(Box<Streaming>),
}

impl ResponseBody {
    pub(crate) fn fixed(bytes: Bytes) -> Self {
        ResponseBody(Kind::Fixed(Some(bytes).filter(|b| !b.is_empty())))
    }

    pub(crate) fn streaming(streaming: Streaming) -> Self {
        ResponseBody(Kind::Streaming(Box::new(streaming)))
    }
}

/// A backend's body on its way to the client.
pub(crate) struct Streaming {
    /// What is still going on; `None` once settled.
    running: Option<(Box<Exchange>, Settlement)>,
    trailers: bool,
    patience: BodyPatience,
    clock: Clock,
    broken_off: bool,
}

/// Until when a body may take, and how long without a byte.
pub(crate) struct BodyPatience {
    pub(crate) deadline: Moment,
    pub(crate) idle: Duration,
    last_byte: Moment,
}

impl BodyPatience {
    pub(crate) fn new(deadline: Moment, idle: Duration, now: Moment) -> Self {
        BodyPatience {
            deadline,
            idle,
            last_byte: now,
        }
    }

    /// A byte moved at `now`: what ends a body holds for those that never pause, too.
    fn moved(&mut self, now: Moment, ongoing: &Ongoing) -> Result<(), ExchangeError> {
        self.last_byte = now;
        match now < self.deadline {
            _ if ongoing.is_cancelled() => Err(ExchangeError::Cancelled),
            true => Ok(()),
            false => Err(ExchangeError::Deadline),
        }
    }

    /// Ready when it was cancelled, or the patience has run out.
    fn poll(
        &self,
        cx: &mut Context<'_>,
        ongoing: &Ongoing,
        clock: &Clock,
        alarm: &mut Alarm,
    ) -> Poll<ExchangeError> {
        if ongoing.poll_cancelled(cx).is_ready() {
            return Poll::Ready(ExchangeError::Cancelled);
        }
        let runs_out = self.deadline.min(self.last_byte + self.idle);
        alarm
            .poll(runs_out, clock, cx)
            .map(|()| match runs_out == self.deadline {
                true => ExchangeError::Deadline,
                false => ExchangeError::Idle,
            })
    }
}

impl Streaming {
    pub(crate) fn new(
        exchange: Box<Exchange>,
        settlement: Settlement,
        trailers: bool,
        patience: BodyPatience,
        clock: Clock,
    ) -> Self {
        let mut streaming = Streaming {
            running: Some((exchange, settlement)),
            trailers,
            patience,
            clock,
            broken_off: false,
        };
        if streaming.remaining() == Some(0) {
            streaming.complete();
        }
        streaming
    }

    fn remaining(&self) -> Option<u64> {
        let (exchange, _) = self.running.as_ref()?;
        exchange.remaining()
    }

    fn complete(&mut self) {
        let Some((exchange, settlement)) = self.running.take() else {
            return;
        };
        let now = self.clock.now();
        if exchange.is_reusable() {
            checkin(exchange.connection, now);
        }
        settlement.complete_at(now);
    }

    /// Ends it, but lets the connection first send what has come until here.
    fn break_off(
        &mut self,
        cx: &Context<'_>,
        error: &ExchangeError,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if let Some((_, settlement)) = self.running.take() {
            let backend = settlement.backend().backend();
            tracing::info!(tier = %backend.tier, instance = backend.instance, %error, "a response was broken off");
            settlement.end(match error {
                ExchangeError::Client(error) => Refusal::broken_body(*error).outcome,
                ExchangeError::Idle | ExchangeError::Deadline => Outcome::Timeout,
                ExchangeError::TooLarge => Outcome::ClientError,
                ExchangeError::Cancelled => Outcome::Cancelled,
                _ => Outcome::UpstreamAborted,
            });
        }
        self.broken_off = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if self.broken_off {
            return Poll::Ready(Some(Err(BrokenOff)));
        }
        let Some((exchange, settlement)) = &mut self.running else {
            return Poll::Ready(None);
        };
        match exchange.poll_body(cx) {
            Poll::Ready(Some(Ok(BodyPiece::Data(data)))) => {
                let now = self.clock.now();
                if exchange.remaining() == Some(0) {
                    self.complete();
                } else if let Err(end) = self.patience.moved(now, settlement.ongoing()) {
                    return self.break_off(cx, &end);
                }
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Poll::Ready(Some(Ok(BodyPiece::Trailers(trailers)))) => {
                self.complete();
                Poll::Ready(self.trailers.then(|| Ok(Frame::trailers(trailers))))
            }
            Poll::Ready(None) => {
                self.complete();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => self.break_off(cx, &error),
            Poll::Pending => {
                let alarm = &mut exchange.connection.alarm;
                let ongoing = settlement.ongoing();
                match self.patience.poll(cx, ongoing, &self.clock, alarm) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(error) => self.break_off(cx, &error),
                }
            }
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match &mut self.0 {
            Kind::Fixed(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
            Kind::Streaming(streaming) => streaming.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Fixed(bytes) => bytes.is_none(),
            Kind::Streaming(streaming) => streaming.running.is_none() && !streaming.broken_off,
        }
    }

    fn size_hint(&self) -> SizeHint {
        let exact = match &self.0 {
            Kind::Fixed(bytes) => Some(bytes.as_ref().map_or(0, |b| b.len() as u64)),
            Kind::Streaming(streaming) if streaming.broken_off => None,
            Kind::Streaming(streaming) if streaming.running.is_none() => Some(0),
            Kind::Streaming(streaming) => streaming.remaining(),
        };
        exact.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
