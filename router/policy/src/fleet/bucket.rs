use std::time::Duration;

use crate::Moment;

/// A token bucket: at most `burst` at once, and one more each `every`.
///
/// It limits the cold subscriptions of a worker and the replays of dead letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    every: Duration,
    burst: u32,
    /// When it would be full if nothing more is taken (the virtual scheduling
    /// form of the algorithm, ITU-T I.371).
    full: Moment,
}

impl Bucket {
    /// A full bucket of `burst` (1 or more; 0 counts as 1) that gains one each `every`.
    pub const fn new(every: Duration, burst: u32) -> Self {
        Bucket {
            every,
            burst: if burst == 0 { 1 } else { burst },
            full: Moment::ORIGIN,
        }
    }

    /// How many may be taken at `now`.
    pub fn available(&self, now: Moment) -> u32 {
        if self.every.is_zero() {
            return self.burst;
        }
        let missing = now.until(self.full).as_nanos();
        let taken = missing.div_ceil(self.every.as_nanos());
        self.burst
            .saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX))
    }

    /// Takes one at `now`.
    ///
    /// # Errors
    /// How long until there is one, when there is none; nothing is taken then.
    pub fn take(&mut self, now: Moment) -> Result<(), Duration> {
        if self.available(now) == 0 {
            let missing = now.until(self.full);
            return Err(missing.saturating_sub(self.every * (self.burst - 1)));
        }
        self.full = self.full.max(now) + self.every;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Moment {
        Moment::from_origin(Duration::from_millis(millis))
    }

    #[test]
    fn a_burst_and_then_the_rate() {
        let mut bucket = Bucket::new(Duration::from_secs(2), 2);
        assert_eq!(bucket.take(at(0)), Ok(()));
        assert_eq!(bucket.take(at(0)), Ok(()));
        assert_eq!(bucket.take(at(500)), Err(Duration::from_millis(1_500)));
        assert_eq!(bucket.take(at(2_000)), Ok(()));
        assert_eq!(bucket.available(at(2_000)), 0);
        assert_eq!(bucket.available(at(60_000)), 2);
    }

    proptest! {
        #[test]
        fn never_more_than_burst_and_rate_and_the_wait_is_exact(
            every in 1u64..5_000,
            burst in 1u32..6,
            gaps in prop::collection::vec(0u64..4_000, 1..100),
        ) {
            let mut bucket = Bucket::new(Duration::from_millis(every), burst);
            let (mut now, mut taken) = (0, 0);
            for gap in gaps {
                now += gap;
                match bucket.take(at(now)) {
                    Ok(()) => taken += 1,
                    Err(wait) => {
                        let mut later = bucket;
                        prop_assert!(later.take(at(now) + wait).is_ok());
                        prop_assert!(wait > Duration::ZERO);
                    }
                }
                prop_assert!(taken <= u64::from(burst) + now / every);
            }
        }
    }
}
