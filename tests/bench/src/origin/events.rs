//! A stream of events as a model server writes them: one write for each token.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::time;

/// Events still to come, each stamped with the time at which it is written.
pub(crate) struct Events {
    next: u64,
    count: u64,
    pace: Pace,
}

enum Pace {
    /// The flag says whether the last event was handed over and not yet flushed.
    AtOnce(bool),
    Ticks(Interval),
}

impl Events {
    pub(crate) fn new(count: u64, gap: Duration) -> Self {
        let pace = if gap.is_zero() {
            Pace::AtOnce(false)
        } else {
            Pace::Ticks(ticks(gap))
        };
        Events {
            next: 0,
            count,
            pace,
        }
    }

    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.next == self.count {
            return Poll::Ready(None);
        }
        ready!(self.pace.poll(context));
        let event = render(self.next, time::epoch_nanos());
        self.next += 1;
        Poll::Ready(Some(event))
    }
}

impl Pace {
    /// Ready when the next event may go. The server flushes whenever it has to
    /// wait for a body, so a burst waits for a moment after each event.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self {
            Pace::Ticks(interval) => interval.poll_tick(context).map(drop),
            Pace::AtOnce(unflushed) => {
                *unflushed = !*unflushed;
                if *unflushed {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

fn ticks(gap: Duration) -> Interval {
    let mut interval = interval(gap);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

fn render(index: u64, sent: u64) -> Bytes {
    format!("data: {{\"sent\":{sent},\"index\":{index},\"choices\":[{{\"delta\":{{\"content\":\" token\"}}}}]}}\n\n").into()
}
