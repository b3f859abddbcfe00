use std::time::Duration;

/// A point on the monotonic clock: nanoseconds since the process's origin.
///
/// Wall-clock jumps never move it, so differences are never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// The origin of the clock.
    pub const ORIGIN: Moment = Moment(0);
    /// Later than anything that will be reached.
    pub const NEVER: Moment = Moment(u64::MAX);

    /// The moment `since_origin` after the origin; saturates after 584 years.
    pub const fn from_origin(since_origin: Duration) -> Self {
        let nanos = since_origin.as_nanos();
        Moment(if nanos > u64::MAX as u128 {
            u64::MAX
        } else {
            nanos as u64
        })
    }

    /// Nanoseconds since the origin, for atomics.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The inverse of [`Moment::nanos`].
    pub const fn from_nanos(nanos: u64) -> Self {
        Moment(nanos)
    }

    /// How long ago `earlier` was; zero when it lies ahead.
    pub const fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The moment `span` earlier; the origin when that is not as long ago.
    pub const fn before(self, span: Duration) -> Moment {
        Moment::from_origin(self.since(Moment::ORIGIN).saturating_sub(span))
    }

    /// How long until `later`; zero when it has passed.
    pub const fn until(self, later: Moment) -> Duration {
        later.since(self)
    }
}

impl std::ops::Add<Duration> for Moment {
    type Output = Moment;

    fn add(self, rhs: Duration) -> Moment {
        let nanos = u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX);
        Moment(self.0.saturating_add(nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_saturate_at_zero() {
        let early = Moment::from_origin(Duration::from_secs(1));
        let late = early + Duration::from_secs(2);
        assert_eq!(late.since(early), Duration::from_secs(2));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(early.until(late), Duration::from_secs(2));
    }

    #[test]
    fn adding_forever_stays_representable() {
        assert_eq!(Moment::from_nanos(5) + Duration::MAX, Moment::NEVER);
    }
}
