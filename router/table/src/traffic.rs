use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use thermocline_policy::Moment;

/// What is going on in one tier of a deployment.
#[derive(Debug, Default)]
pub struct TierTraffic {
    in_flight: AtomicU32,
    taken: AtomicU64,
    last_end: AtomicU64,
    /// Whether a request that found nothing awake is still in hand.
    waking: AtomicBool,
}

/// How a request that a backend takes in hand finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// At work, or not longer without it than it stays up.
    Awake,
    /// Without work for so long that its workers are gone.
    Asleep,
    /// Asked already by a request that found it asleep.
    Waking,
}

impl TierTraffic {
    pub(crate) fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }

    /// How the request that was begun last finds the tier at `now`, whose workers
    /// stay up for `idle` without work. To be ended with [`TierTraffic::woke`].
    pub fn find(&self, now: Moment, idle: Duration) -> Found {
        let alone = self.in_flight() <= 1;
        let rested = now.since(self.last_end()) >= idle || self.taken() <= 1;
        if alone && rested {
            self.waking.store(true, Ordering::Relaxed);
            return Found::Asleep;
        }
        match self.waking.load(Ordering::Relaxed) {
            true => Found::Waking,
            false => Found::Awake,
        }
    }

    /// The request that found it so has ended.
    pub fn woke(&self, found: Found) {
        if found == Found::Asleep {
            self.waking.store(false, Ordering::Relaxed);
        }
    }

    /// Requests that its backends took in hand so far.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Requests that its backends have in hand.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Acquire)
    }

    /// When work last ended there, or an instance became ready.
    pub fn last_end(&self) -> Moment {
        Moment::from_nanos(self.last_end.load(Ordering::Acquire))
    }

    /// The idle clock starts (again) at `now`.
    pub fn touch(&self, now: Moment) {
        self.last_end.fetch_max(now.nanos(), Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_had_no_work_for_their_idle_time_are_asleep() {
        let traffic = TierTraffic::default();
        let at = |seconds| Moment::from_origin(Duration::from_secs(seconds));
        let find = |now| {
            traffic.begin();
            traffic.find(now, Duration::from_secs(30))
        };
        let end = |found, now| {
            traffic.touch(now);
            traffic.end();
            traffic.woke(found);
        };
        assert_eq!(find(at(0)), Found::Asleep, "the first");
        assert_eq!(find(at(1)), Found::Waking);
        end(Found::Waking, at(40));
        end(Found::Asleep, at(41));
        assert_eq!(find(at(70)), Found::Awake);
        end(Found::Awake, at(71));
        assert_eq!(find(at(101)), Found::Asleep);
    }
}
