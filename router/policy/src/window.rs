//! The sliding window of arrivals: a ring of counts.

use std::sync::Mutex;
use std::time::Duration;

use crate::{Moment, Rate};

/// The least time from which a rate is told, unless the window is shorter.
const LEAST_SEEN: Duration = Duration::from_secs(10);

/// How many whole buckets a window is divided into.
const WHOLE: usize = 100;
/// One more for the bucket that is sliding out.
const BUCKETS: usize = WHOLE + 1;

/// Arrivals of the last `span`, counted in buckets of a hundredth of it.
///
/// The bucket that is sliding out counts in proportion to what of it is still
/// inside, so a constant rate reads as constant. Recording and reading hold a
/// lock for nanoseconds; the ring itself is 404 bytes.
#[derive(Debug)]
pub struct Window {
    bucket: u64,
    ring: Mutex<Ring>,
}

#[derive(Debug)]
struct Ring {
    /// Index of the newest bucket since the origin.
    head: u64,
    /// Sum over all buckets but the one sliding out.
    whole: u32,
    /// Arrivals since the beginning.
    total: u64,
    counts: [u32; BUCKETS],
}

/// What a window holds at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Arrivals within the span, to the nearest whole one.
    pub count: u64,
    /// `count` over the span, in requests a second.
    pub rps: f64,
}

impl Window {
    /// An empty window of `span` (1 s or more) that begins at `now`.
    pub fn new(span: Duration, now: Moment) -> Self {
        let bucket = (span.as_nanos() as u64 / WHOLE as u64).max(1);
        Window {
            bucket,
            ring: Mutex::new(Ring {
                head: now.nanos() / bucket,
                whole: 0,
                total: 0,
                counts: [0; BUCKETS],
            }),
        }
    }

    /// The same arrivals over another `span`; what lies within both is kept,
    /// to the width of a bucket.
    pub fn resized(&self, span: Duration, now: Moment) -> Self {
        let wanted = Window::new(span, now);
        {
            let mut old = self.lock();
            old.advance(now.nanos() / self.bucket);
            let mut new = wanted.lock();
            for age in (0..WHOLE as u64).rev() {
                let Some(bucket) = old.head.checked_sub(age) else {
                    continue;
                };
                let middle = bucket * self.bucket + self.bucket / 2;
                let at = middle.min(now.nanos()) / wanted.bucket;
                new.add_many(at, old.counts[slot(bucket)]);
            }
            new.total = old.total;
        }
        wanted
    }

    /// Arrivals since the window began, old ones included.
    pub fn total(&self) -> u64 {
        self.lock().total
    }

    /// The span it covers.
    pub fn span(&self) -> Duration {
        Duration::from_nanos(self.bucket * WHOLE as u64)
    }

    /// Counts one arrival at `now` and reads the window with it.
    pub fn record(&self, now: Moment) -> Observation {
        let at = now.nanos() / self.bucket;
        let mut ring = self.lock();
        ring.advance(at);
        ring.add(at);
        self.observation(&ring, now)
    }

    /// Reads the window at `now`.
    pub fn observe(&self, now: Moment) -> Observation {
        let mut ring = self.lock();
        ring.advance(now.nanos() / self.bucket);
        self.observation(&ring, now)
    }

    /// Arrivals a second at `now` over what has been watched since `since`: the span
    /// at most, and 10 s of it at least.
    ///
    /// A window that is not yet watched in full holds fewer arrivals than its rate
    /// would bring.
    pub fn rate(&self, now: Moment, since: Moment) -> Rate {
        let seen = now.since(since).max(LEAST_SEEN).min(self.span());
        let count = self.observe(now).count;
        Rate::per_second(count as f64 / seen.as_secs_f64()).unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Ring> {
        // No code that can panic runs under this lock.
        self.ring.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn observation(&self, ring: &Ring, now: Moment) -> Observation {
        let sliding_out = u64::from(ring.counts[slot(ring.head + 1)]);
        let inside = self.bucket - now.nanos() % self.bucket;
        let part = if sliding_out == 0 {
            0
        } else {
            (sliding_out * inside + self.bucket / 2) / self.bucket
        };
        let count = u64::from(ring.whole) + part;
        Observation {
            count,
            rps: count as f64 / self.span().as_secs_f64(),
        }
    }
}

impl Ring {
    /// Moves the head to bucket `at`; an earlier one leaves it where it is.
    fn advance(&mut self, at: u64) {
        let steps = at.saturating_sub(self.head);
        if steps == 0 {
            return;
        }
        if steps >= BUCKETS as u64 {
            self.counts = [0; BUCKETS];
            self.whole = 0;
            self.head = at;
            return;
        }
        for _ in 0..steps {
            self.head += 1;
            self.counts[slot(self.head)] = 0;
            // The bucket WHOLE back becomes the one that slides out.
            self.whole -= self.counts[slot(self.head + 1)];
        }
    }

    /// Counts an arrival in bucket `at`; one older than the ring is past counting.
    fn add(&mut self, at: u64) {
        self.total += 1;
        self.add_many(at, 1);
    }

    fn add_many(&mut self, at: u64, arrivals: u32) {
        let age = self.head.saturating_sub(at);
        if age >= BUCKETS as u64 {
            return;
        }
        let fits = u32::MAX - self.whole.max(self.counts[slot(at)]);
        let arrivals = arrivals.min(fits);
        self.counts[slot(at)] += arrivals;
        if age < WHOLE as u64 {
            self.whole += arrivals;
        }
    }
}

fn slot(bucket: u64) -> usize {
    (bucket % BUCKETS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: f64) -> Moment {
        Moment::from_origin(Duration::from_secs_f64(seconds))
    }

    fn five_minutes() -> Window {
        Window::new(Duration::from_secs(300), Moment::ORIGIN)
    }

    #[test]
    fn counts_what_arrived_within_the_span() {
        let window = five_minutes();
        for i in 0..60 {
            window.record(at(f64::from(i)));
        }
        assert_eq!(window.observe(at(60.0)).count, 60);
        assert_eq!(window.observe(at(299.9)).count, 60);
        assert_eq!(window.observe(at(330.0)).count, 30);
        assert_eq!(window.observe(at(400.0)).count, 0);
    }

    #[test]
    fn a_constant_rate_reads_as_constant() {
        let window = five_minutes();
        for i in 0..3_000 {
            let now = at(f64::from(i) / 1.5);
            let seen = window.record(now);
            if now > at(305.0) {
                assert!((seen.rps - 1.5).abs() / 1.5 < 0.01, "{seen:?} at {now:?}");
            }
        }
    }

    #[test]
    fn another_span_keeps_what_lies_within_both() {
        let window = five_minutes();
        for i in 0..60 {
            window.record(at(f64::from(i * 5)));
        }
        let wide = window.resized(Duration::from_secs(1800), at(299.0));
        assert_eq!((wide.observe(at(299.0)).count, wide.total()), (60, 60));
        assert_eq!(wide.observe(at(1700.0)).count, 60);
        let narrow = window.resized(Duration::from_secs(60), at(299.0));
        let kept = narrow.observe(at(299.0)).count;
        assert!((11..=13).contains(&kept), "{kept}");
        assert_eq!(narrow.total(), 60);
    }

    #[test]
    fn fits_into_its_budget() {
        assert!(size_of::<Window>() <= 512, "{}", size_of::<Window>());
    }

    #[test]
    fn a_late_record_lands_in_its_own_bucket() {
        let window = five_minutes();
        window.observe(at(100.0));
        window.record(at(50.0));
        assert_eq!(window.observe(at(349.0)).count, 1);
        assert_eq!(window.observe(at(354.0)).count, 0);
    }

    proptest! {
        /// Against the exact answer: every arrival's time kept in a list.
        #[test]
        fn stays_within_one_bucket_of_the_exact_count(
            gaps in prop::collection::vec(0.0f64..30.0, 1..400),
            idle in 0.0f64..400.0,
        ) {
            let window = five_minutes();
            let mut times = Vec::new();
            let mut now = 0.0;
            for gap in gaps {
                now += gap;
                window.record(at(now));
                times.push(now);
            }
            let end = now + idle;
            let within = |span: f64| times.iter().filter(|t| **t > end - span).count() as u64;
            let seen = window.observe(at(end)).count;
            prop_assert!(seen >= within(297.0) && seen <= within(303.001), "{seen}");
        }
    }

    #[test]
    fn just_after_a_start_the_rate_is_that_of_what_was_watched() {
        let window = Window::new(Duration::from_secs(300), at(100.0));
        let rate = |now| window.rate(at(now), at(100.0)).as_per_second();
        assert_eq!(rate(100.0), 0.0);
        for i in 0..30 {
            if i == 5 {
                assert_eq!(rate(104.0), 0.5, "10 s at the least");
            }
            window.record(at(100.0 + f64::from(i)));
        }
        assert_eq!(rate(130.0), 1.0, "30 requests in 30 s");
        assert_eq!(rate(250.0), 0.2, "and 2 minutes of silence");
        assert_eq!(rate(390.0), 30.0 / 290.0, "nearly the whole window");
        assert!(rate(410.0) < 0.1, "no more than that");
    }
}
