use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_policy::Moment;

use crate::backend::Latch;

/// How an instance comes up; durations run on the provider's clock.
#[derive(Debug, Clone)]
pub enum Boot {
    /// Ready when its create is answered.
    AtOnce,
    /// Ready after so long.
    After(Duration),
    /// Ready when the latch opens.
    WhenOpen(Latch),
    /// Ready when the test releases its key.
    WhenReleased,
    /// Ready at once, but its port refuses connections for so long.
    ListensAfter(Duration),
    /// Starting for ever.
    Never,
    /// Fails after so long with an exit code.
    Exits(Duration, i32),
}

/// What a boot has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Booted {
    Ready,
    Exited(i32),
}

impl Boot {
    /// What a boot that began at `from` has come to by `now`, if to anything.
    pub(super) fn come_to(&self, from: Moment, now: Moment, released: &Latch) -> Option<Booted> {
        let over = |delay: &Duration| now >= from + *delay;
        match self {
            Boot::AtOnce => Some(Booted::Ready),
            Boot::After(delay) | Boot::ListensAfter(delay) => over(delay).then_some(Booted::Ready),
            Boot::WhenOpen(latch) => latch.is_open().then_some(Booted::Ready),
            Boot::WhenReleased => released.is_open().then_some(Booted::Ready),
            Boot::Never => None,
            Boot::Exits(delay, code) => over(delay).then_some(Booted::Exited(*code)),
        }
    }

    /// Waits for the end of a boot that began at `from`; `released` is what the
    /// test opens for the instance's key.
    pub(super) async fn finished(&self, clock: &Clock, from: Moment, released: &Latch) -> Booted {
        match self {
            Boot::AtOnce => {}
            Boot::After(delay) | Boot::ListensAfter(delay) => {
                clock.sleep_until(from + *delay).await;
            }
            Boot::WhenOpen(latch) => latch.opened().await,
            Boot::WhenReleased => released.opened().await,
            Boot::Never => std::future::pending().await,
            Boot::Exits(delay, code) => {
                clock.sleep_until(from + *delay).await;
                return Booted::Exited(*code);
            }
        }
        Booted::Ready
    }
}
