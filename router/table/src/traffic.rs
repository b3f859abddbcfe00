use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use thermocline_policy::Moment;

/// Of [`TierTraffic::sent`]: no worker is known to be up for them yet.
const WAKING: u32 = 1 << 31;

/// What is going on in one tier of a deployment.
#[derive(Debug, Default)]
pub struct TierTraffic {
    in_flight: AtomicU32,
    taken: AtomicU64,
    last_end: AtomicU64,
    /// Requests that were sent and have not ended, and [`WAKING`].
    sent: AtomicU32,
    /// When an answer last ended; 0 before any.
    last_answer: AtomicU64,
}

/// How a request that is sent finds the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// At work, or not longer without it than it stays up.
    Awake,
    /// Without work for so long that its workers are gone.
    Asleep,
    /// Perhaps on its way up: asked already by a request that was not answered
    /// yet, or started a moment ago.
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

    /// How a request finds the tier that it is sent to at `now`, whose workers stay
    /// up for `idle` without work. To be ended with [`TierTraffic::end_sent`].
    ///
    /// Of requests that come at once, one finds it asleep.
    pub fn send(&self, now: Moment, idle: Duration) -> Found {
        let mut told = Found::Waking;
        let begin = |sent: u32| {
            told = self.found(sent, now, idle);
            Some(match told {
                Found::Awake => sent + 1,
                Found::Asleep | Found::Waking => (sent + 1) | WAKING,
            })
        };
        let sent = &self.sent;
        let _always = sent.fetch_update(Ordering::AcqRel, Ordering::Acquire, begin);
        told
    }

    /// How it is at `now` with `sent`, which was read first: the answer that ended the
    /// last work is seen by whoever sees no work.
    fn found(&self, sent: u32, now: Moment, idle: Duration) -> Found {
        let answered = self.last_answer.load(Ordering::Acquire);
        let is_up = answered > 0 && now.since(Moment::from_nanos(answered)) < idle;
        let rested = now.since(self.last_end()) >= idle;
        match (sent & !WAKING, sent & WAKING) {
            (0, _) if is_up => Found::Awake,
            (0, _) if rested => Found::Asleep,
            (1.., 0) => Found::Awake,
            _ => Found::Waking,
        }
    }

    /// A request that was sent has ended; `answered` when it was answered whole,
    /// which shows that a worker is up.
    pub fn end_sent(&self, answered: Option<Moment>) {
        if let Some(at) = answered {
            // First of all: nobody may see "no work" with an old answer.
            self.last_answer
                .fetch_max(at.nanos().max(1), Ordering::AcqRel);
        }
        let end = |sent: u32| match (sent & !WAKING, answered) {
            (0 | 1, _) => 0,
            (working, Some(_)) => working - 1,
            (_, None) => sent - 1,
        };
        let sent = &self.sent;
        let _always = sent.fetch_update(Ordering::AcqRel, Ordering::Acquire, |s| Some(end(s)));
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

    const IDLE: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> Moment {
        Moment::from_origin(Duration::from_secs(seconds))
    }

    /// A request that is answered from `from` to `to` seconds.
    fn answered(traffic: &TierTraffic, from: u64, to: u64) -> Found {
        let found = traffic.send(at(from), IDLE);
        traffic.touch(at(to));
        traffic.end_sent(Some(at(to)));
        found
    }

    #[test]
    fn workers_that_had_no_work_for_their_idle_time_are_asleep() {
        let traffic = TierTraffic::default();
        assert_eq!(traffic.send(at(100), IDLE), Found::Asleep, "the first");
        assert_eq!(traffic.send(at(101), IDLE), Found::Waking);
        traffic.end_sent(Some(at(140)));
        assert_eq!(
            traffic.send(at(140), IDLE),
            Found::Awake,
            "one was answered"
        );
        traffic.end_sent(Some(at(141)));
        traffic.touch(at(141));
        traffic.end_sent(Some(at(141)));
        assert_eq!(answered(&traffic, 170, 171), Found::Awake);
        assert_eq!(answered(&traffic, 201, 202), Found::Asleep);
    }

    #[test]
    fn of_requests_at_once_one_wakes_it_and_the_others_wait_with_it() {
        let traffic = TierTraffic::default();
        let found: Vec<Found> = std::thread::scope(|scope| {
            let send = || scope.spawn(|| traffic.send(at(100), IDLE));
            let threads: Vec<_> = std::iter::repeat_with(send).take(8).collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined.map(|found| found.expect("no panic")).collect()
        });
        let count = |wanted| found.iter().filter(|it| **it == wanted).count();
        assert_eq!((count(Found::Asleep), count(Found::Waking)), (1, 7));
    }

    #[test]
    fn who_leaves_without_an_answer_shows_no_worker() {
        let traffic = TierTraffic::default();
        assert_eq!(traffic.send(at(100), IDLE), Found::Asleep);
        assert_eq!(traffic.send(at(101), IDLE), Found::Waking);
        traffic.end_sent(None);
        assert_eq!(traffic.send(at(102), IDLE), Found::Waking);
        traffic.end_sent(None);
        traffic.end_sent(None);
        traffic.touch(at(103));
        assert_eq!(answered(&traffic, 104, 110), Found::Waking, "left behind");
        assert_eq!(answered(&traffic, 111, 112), Found::Awake);
    }

    #[test]
    fn nothing_is_known_of_the_workers_of_an_endpoint_that_just_became_ready() {
        let traffic = TierTraffic::default();
        traffic.touch(at(100));
        assert_eq!(answered(&traffic, 101, 102), Found::Waking);
        assert_eq!(answered(&traffic, 103, 104), Found::Awake);
    }
}
