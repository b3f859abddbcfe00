use std::fmt::{Debug, Display};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt};

use super::{Checked, Subject};
use crate::{Broker, DeadLetter, DeadLetters, Deliveries, Delivery};

/// The longest that anything may take to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// How long nothing must come where nothing may.
const SILENCE: Duration = Duration::from_millis(300);

/// The trial of one clause, on a queue of its own.
pub(super) struct Stage<'s> {
    pub(super) subject: &'s dyn Subject,
    pub(super) queue: &'static str,
}

impl<'s> Stage<'s> {
    pub(super) fn new(subject: &'s dyn Subject, queue: &'static str) -> Self {
        Stage { subject, queue }
    }

    pub(super) fn broker(&self) -> &dyn Broker {
        self.subject.broker()
    }

    /// Publishes each of `bodies`, in this order.
    pub(super) async fn publish(&self, bodies: &[&'static str]) -> Checked {
        for body in bodies {
            let body = Bytes::from_static(body.as_bytes());
            said(self.broker().publish(self.queue, body).await)?;
        }
        Ok(())
    }

    pub(super) async fn consume(&self, prefetch: u16) -> Checked<Deliveries> {
        said(self.broker().consume(self.queue, prefetch).await)
    }

    /// What waits first, whoever waits for it too.
    pub(super) async fn take(&self) -> Checked<Option<Delivery>> {
        said(self.broker().take(self.queue).await)
    }

    /// The next that comes.
    pub(super) async fn next<T>(&self, stream: &mut (impl Stream<Item = T> + Unpin)) -> Checked<T> {
        let mut waited = Duration::ZERO;
        while waited < PATIENCE {
            match stream.next().now_or_never() {
                Some(Some(item)) => return Ok(item),
                Some(None) => return Err("the stream ended".into()),
                None => self.subject.pass(PAUSE).await,
            }
            waited += PAUSE;
        }
        Err("nothing came".into())
    }

    /// The next delivery, which has to be of `body` after `attempts`.
    pub(super) async fn expect(
        &self,
        deliveries: &mut Deliveries,
        body: &str,
        attempts: u32,
    ) -> Checked<Delivery> {
        let delivery = self.next(deliveries).await?;
        same(
            (&delivery.body()[..], delivery.attempts()),
            (body.as_bytes(), attempts),
        )?;
        Ok(delivery)
    }

    /// The dead letter of this queue; those of others are acknowledged on the way.
    pub(super) async fn letter(&self, letters: &mut DeadLetters) -> Checked<DeadLetter> {
        loop {
            let letter = self.next(letters).await?;
            if letter.queue == self.queue {
                return Ok(letter);
            }
            said(letter.delivery.ack().await)?;
        }
    }

    /// Nothing comes for a while.
    pub(super) async fn silent<T>(&self, stream: &mut (impl Stream<Item = T> + Unpin)) -> Checked {
        let mut waited = Duration::ZERO;
        while waited < SILENCE {
            if stream.next().now_or_never().is_some() {
                return Err("something came that must not".into());
            }
            self.subject.pass(PAUSE).await;
            waited += PAUSE;
        }
        Ok(())
    }

    /// The queue comes to have `waiting` messages that nobody has taken.
    pub(super) async fn deep(&self, waiting: u64) -> Checked {
        let mut seen = 0;
        let mut waited = Duration::ZERO;
        while waited < PATIENCE {
            seen = said(self.broker().depth(self.queue).await)?.waiting;
            if seen == waiting {
                return Ok(());
            }
            self.subject.pass(PAUSE).await;
            waited += PAUSE;
        }
        same(seen, waiting)
    }
}

/// Whatever a call failed with, as what was seen.
pub(super) fn said<T>(result: Result<T, impl Display>) -> Checked<T> {
    result.map_err(|error| error.to_string())
}

/// Whether `seen` is what had to be.
pub(super) fn same<T: Debug + PartialEq>(seen: T, wanted: T) -> Checked {
    (seen == wanted)
        .then_some(())
        .ok_or_else(|| format!("{seen:?} instead of {wanted:?}"))
}
