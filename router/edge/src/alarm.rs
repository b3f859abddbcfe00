use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use thermocline_clock::{Clock, Sleep};
use thermocline_policy::Moment;

/// A timer for waits that mostly end well: it stays armed when one ends, and
/// is moved on when it fires, so that not each wait costs a timer.
#[derive(Default)]
pub(crate) struct Alarm(Option<(Moment, Sleep)>);

impl Alarm {
    /// Ready at `ends`.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, clock: &Clock, ends: Moment) -> Poll<()> {
        if self.0.as_ref().is_none_or(|(at, _)| *at > ends) {
            self.arm(clock, ends);
        }
        while let Some((at, sleep)) = &mut self.0 {
            ready!(Pin::new(sleep).poll(cx));
            if *at >= ends {
                return Poll::Ready(());
            }
            self.arm(clock, ends);
        }
        Poll::Pending
    }

    /// Has the task woken at least `every` so long.
    pub(crate) fn rouse(&mut self, cx: &mut Context<'_>, clock: &Clock, every: Duration) {
        loop {
            let pending = self
                .0
                .as_mut()
                .is_some_and(|(_, sleep)| Pin::new(sleep).poll(cx).is_pending());
            if pending {
                return;
            }
            self.arm(clock, clock.now() + every);
        }
    }

    fn arm(&mut self, clock: &Clock, at: Moment) {
        self.0 = Some((at, clock.sleep_until(at)));
    }
}
