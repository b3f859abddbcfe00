//! The one place where time is read and waited for.
//!
//! Everything that waits does so on a [`Clock`]. In production it is the
//! machine's; in tests it is a [`ManualClock`], which stands still until it is
//! told to advance, while sockets stay real.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use thermocline_policy::Moment;

/// A source of moments, cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System(Instant),
    Manual(ManualClock),
}

impl Clock {
    /// The machine's clock; its origin is now.
    #[allow(clippy::disallowed_methods)] // this is the clock
    pub fn system() -> Self {
        Clock(Source::System(Instant::now()))
    }

    /// The monotonic time.
    #[allow(clippy::disallowed_methods)]
    pub fn now(&self) -> Moment {
        match &self.0 {
            Source::System(origin) => Moment::from_origin(origin.elapsed()),
            Source::Manual(clock) => clock.now(),
        }
    }

    /// The wall clock, for timestamps that people read; never for differences.
    #[allow(clippy::disallowed_methods)]
    pub fn wall(&self) -> SystemTime {
        match &self.0 {
            Source::System(_) => SystemTime::now(),
            Source::Manual(clock) => clock.wall(),
        }
    }

    /// The wall clock in microseconds since 1970, as the store keeps it.
    pub fn wall_micros(&self) -> i64 {
        let since = self.wall().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |d| i64::try_from(d.as_micros()).unwrap_or(i64::MAX))
    }

    /// Ends at `deadline`; at once when it has passed, never for [`Moment::NEVER`].
    pub fn sleep_until(&self, deadline: Moment) -> Sleep {
        match &self.0 {
            _ if deadline == Moment::NEVER => Sleep::Never,
            Source::System(origin) => {
                let at = *origin + deadline.since(Moment::ORIGIN);
                Sleep::System(Box::pin(tokio::time::sleep_until(at.into())))
            }
            Source::Manual(clock) => Sleep::Manual(clock.clone(), deadline),
        }
    }

    /// Ends after `duration`.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        self.sleep_until(self.now() + duration)
    }

    /// `work`, unless `deadline` comes first.
    ///
    /// # Errors
    /// [`Elapsed`] when it does.
    pub async fn timeout_at<F: Future>(
        &self,
        deadline: Moment,
        work: F,
    ) -> Result<F::Output, Elapsed> {
        tokio::select! {
            biased;
            output = work => Ok(output),
            () = self.sleep_until(deadline) => Err(Elapsed),
        }
    }
}

/// A timer that is used over and over: armed once, it is moved when it fires
/// instead of at each new deadline, so that a deadline that is seldom reached
/// costs nothing to set.
#[derive(Debug, Default)]
pub struct Alarm(Option<(Moment, Sleep)>);

impl Alarm {
    /// Ready once `deadline` has passed on `clock`.
    pub fn poll(&mut self, deadline: Moment, clock: &Clock, cx: &mut Context<'_>) -> Poll<()> {
        if self.0.as_ref().is_none_or(|(at, _)| *at > deadline) {
            self.0 = Some((deadline, clock.sleep_until(deadline)));
        }
        while let Some((at, sleep)) = &mut self.0 {
            if Pin::new(sleep).poll(cx).is_pending() {
                return Poll::Pending;
            }
            if *at >= deadline {
                self.0 = None;
                return Poll::Ready(());
            }
            self.0 = Some((deadline, clock.sleep_until(deadline)));
        }
        Poll::Pending
    }
}

/// The deadline came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

/// A wait on a [`Clock`].
#[derive(Debug)]
pub enum Sleep {
    /// On the machine's clock.
    System(Pin<Box<tokio::time::Sleep>>),
    /// On a test's clock.
    Manual(ManualClock, Moment),
    /// For ever.
    Never,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match &mut *self {
            Sleep::System(sleep) => sleep.as_mut().poll(cx),
            Sleep::Manual(clock, deadline) => clock.poll_reached(*deadline, cx.waker()),
            Sleep::Never => Poll::Pending,
        }
    }
}

/// A clock that stands still until it is told to advance.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<Mutex<Manual>>);

#[derive(Debug)]
struct Manual {
    now: Moment,
    wall: SystemTime,
    waiting: Vec<(Moment, Waker)>,
}

impl ManualClock {
    /// A clock at its origin, with the wall clock at `wall`.
    pub fn starting_at(wall: SystemTime) -> Self {
        ManualClock(Arc::new(Mutex::new(Manual {
            now: Moment::ORIGIN,
            wall,
            waiting: Vec::new(),
        })))
    }

    /// The clock to hand to what is tested.
    pub fn clock(&self) -> Clock {
        Clock(Source::Manual(self.clone()))
    }

    /// The monotonic time.
    pub fn now(&self) -> Moment {
        self.lock().now
    }

    /// Moves both clocks on and wakes whoever waited for a moment up to there.
    pub fn advance(&self, by: Duration) {
        let mut state = self.lock();
        state.now = state.now + by;
        state.wall += by;
        let now = state.now;
        let (due, waiting) = std::mem::take(&mut state.waiting)
            .into_iter()
            .partition(|(at, _)| *at <= now);
        state.waiting = waiting;
        drop(state);
        let due: Vec<(Moment, Waker)> = due;
        due.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// Sets the wall clock, as a time server or a person would.
    pub fn set_wall(&self, wall: SystemTime) {
        self.lock().wall = wall;
    }

    /// The wall clock.
    pub fn wall(&self) -> SystemTime {
        self.lock().wall
    }

    fn poll_reached(&self, deadline: Moment, waker: &Waker) -> Poll<()> {
        let mut state = self.lock();
        if state.now >= deadline {
            return Poll::Ready(());
        }
        let known = state
            .waiting
            .iter()
            .any(|(at, w)| *at == deadline && w.will_wake(waker));
        if !known {
            state.waiting.push((deadline, waker.clone()));
        }
        Poll::Pending
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Manual> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn time_moves_only_when_told() {
        let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let clock = manual.clock();
        let waiter = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep(Duration::from_secs(60)).await }
        });
        tokio::task::yield_now().await;
        manual.advance(Duration::from_secs(59));
        tokio::task::yield_now().await;
        assert!(!waiter.is_finished());
        manual.advance(Duration::from_secs(1));
        waiter.await.unwrap();
        assert_eq!(clock.wall_micros(), 60_000_000);
    }

    #[tokio::test]
    async fn an_alarm_fires_at_its_latest_deadline() {
        let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let (clock, mut alarm) = (manual.clock(), Alarm::default());
        let at = |seconds| Moment::from_origin(Duration::from_secs(seconds));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(alarm.poll(at(10), &clock, &mut cx).is_pending());
        assert!(alarm.poll(at(20), &clock, &mut cx).is_pending());
        manual.advance(Duration::from_secs(15));
        assert!(alarm.poll(at(20), &clock, &mut cx).is_pending());
        assert!(alarm.poll(at(12), &clock, &mut cx).is_ready());
        assert!(alarm.poll(at(20), &clock, &mut cx).is_pending());
        manual.advance(Duration::from_secs(5));
        assert!(alarm.poll(at(20), &clock, &mut cx).is_ready());
    }

    #[tokio::test]
    async fn a_wall_jump_moves_nothing() {
        let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(7200));
        let before = manual.now();
        manual.set_wall(SystemTime::UNIX_EPOCH);
        assert_eq!(manual.now(), before);
    }
}
