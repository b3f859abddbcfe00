//! What arrivals cost on each tier, counted one by one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::{Moment, Work};

/// How a serverless endpoint took requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// From arrival until a worker had it; the sum, of several.
    pub wait: Duration,
    /// Workers that were started.
    pub cold_starts: u64,
    /// Worker time that is billed because of them.
    pub billed: Duration,
    /// Of that, without a request in hand: cold starts, and what workers stay.
    pub idle: Duration,
}

/// What was counted between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// The look before.
    pub start: Moment,
    /// From then until now.
    pub span: Duration,
    /// Requests that were taken in hand, evenly spread over it.
    pub requests: u64,
    /// Of all that were ever taken, those that are still in hand now.
    pub in_hand: u64,
}

impl Count {
    /// Now.
    pub fn end(&self) -> Moment {
        self.start + self.span
    }

    /// Whether so many requests are metered as a flow.
    pub(crate) fn is_flood(&self) -> bool {
        self.requests > MOST_METERED
    }

    /// When its requests came.
    pub(crate) fn evenly(&self) -> impl Iterator<Item = Moment> {
        let Count {
            start,
            span,
            requests,
            ..
        } = *self;
        let middle = move |i| (i as f64 + 0.5) / requests as f64;
        (0..requests).map(move |i| start + span.mul_f64(middle(i)))
    }
}

/// Requests of one count beyond which they are a flow, not metered one by one.
const MOST_METERED: u64 = 1024;

/// What ends no later than this after it was reckoned to is as good as reckoned:
/// counts are of whole seconds.
const LATE: Duration = Duration::from_secs(2);

/// A serverless endpoint as its bill sees it: workers that come when all are
/// full, batch up to their limit, and go after their idle time.
#[derive(Debug, Clone, Default)]
pub struct ServerlessMeter {
    workers: Vec<Worker>,
    /// Until when a flood is billed whole.
    flooded: Moment,
}

#[derive(Debug, Clone)]
struct Worker {
    ready: Moment,
    /// Until when it is billed if nothing more comes.
    until: Moment,
    /// Until when it has a request in hand.
    busy: Moment,
    places: Places,
}

impl ServerlessMeter {
    /// One request that arrives at `now` (never before the last) and takes `service`.
    ///
    /// It goes to the oldest worker with a place, which fills workers instead
    /// of spreading the work; who finds none starts one.
    pub fn take(&mut self, now: Moment, service: Duration, work: &Work) -> Taken {
        self.workers.retain(|worker| worker.until > now);
        for worker in &mut self.workers {
            if worker.places.has_room(now, work.concurrency) {
                return worker.serve(now, service, work.serverless_idle, Duration::ZERO);
            }
        }
        let mut worker = Worker::up_since(now + work.cold_start);
        let share = work.billed_cold_share.clamp(0.0, 1.0);
        let cold = work.cold_start.mul_f64(share);
        let taken = worker.serve(now, service, work.serverless_idle, cold);
        self.workers.push(worker);
        Taken {
            cold_starts: 1,
            ..taken
        }
    }

    /// What was counted, never before the last. Of a flood, only worker time is counted.
    pub fn count(&mut self, count: &Count, work: &Work) -> Taken {
        if count.is_flood() {
            self.flooded = self.flooded.max(count.end() + work.service);
            return flow(count.span, count.requests as f64, work);
        }
        let mut sum = Taken::default();
        for at in count.evenly() {
            sum += self.take(at, work.service, work);
        }
        sum += self.hold(count, work);
        sum
    }

    /// What is still in hand although it was reckoned to have ended a service time ago,
    /// and [`LATE`]: its workers are billed until now, and stay for their idle time.
    pub(crate) fn hold(&mut self, count: &Count, work: &Work) -> Taken {
        let from = count.start.max(self.flooded);
        let late = work.service.max(LATE);
        let due = self.in_flight(from.before(late)) as u64;
        if count.end() <= from || count.in_hand <= due {
            return Taken::default();
        }
        // Who has gone for longer is not billed for the time in between.
        let just_now = from.before(late + count.span);
        self.workers.retain(|worker| worker.until > just_now);
        let needed = count.in_hand.div_ceil(u64::from(work.concurrency.max(1))) as usize;
        while self.workers.len() < needed {
            // Taken for gone, since less work was reckoned with.
            self.workers.push(Worker::up_since(from));
        }
        let mut sum = Taken::default();
        for worker in &mut self.workers[..needed] {
            sum += worker.hold(count.end(), work.serverless_idle);
        }
        sum
    }

    /// Requests in hand at `now`.
    pub fn in_flight(&mut self, now: Moment) -> usize {
        let workers = self.workers.iter_mut();
        workers.map(|worker| worker.places.taken(now)).sum()
    }
}

/// `requests` within `span`, by workers that are as busy as they can be.
pub(crate) fn flow(span: Duration, requests: f64, work: &Work) -> Taken {
    let load = requests * work.service.as_secs_f64() / span.as_secs_f64().max(1e-9);
    let workers = (load / f64::from(work.concurrency.max(1))).ceil();
    Taken {
        billed: span.mul_f64(workers),
        ..Taken::default()
    }
}

/// Requests that a pod can serve within `span`, all its places taken all the time.
pub(crate) fn capacity_of_pod(span: Duration, work: &Work) -> f64 {
    let places = f64::from(work.concurrency.max(1));
    // Work that takes no time is never too much.
    places * span.as_secs_f64() / work.service_on_pod.as_secs_f64().max(f64::MIN_POSITIVE)
}

impl std::ops::AddAssign for Taken {
    fn add_assign(&mut self, more: Taken) {
        self.wait += more.wait;
        self.cold_starts += more.cold_starts;
        self.billed += more.billed;
        self.idle += more.idle;
    }
}

impl Worker {
    fn up_since(ready: Moment) -> Self {
        Worker {
            ready,
            until: ready,
            busy: ready,
            places: Places::default(),
        }
    }

    /// It has something in hand until `now`, and stays for `idle`.
    fn hold(&mut self, now: Moment, idle: Duration) -> Taken {
        let billed = (now + idle).since(self.until);
        let busy = now.since(self.busy);
        self.until = self.until.max(now + idle);
        self.busy = self.busy.max(now);
        Taken {
            billed,
            idle: billed.saturating_sub(busy),
            ..Taken::default()
        }
    }

    fn serve(&mut self, now: Moment, service: Duration, idle: Duration, cold: Duration) -> Taken {
        let begins = now.max(self.ready);
        let ends = begins + service;
        self.places.take(ends);
        let before = self.until;
        self.until = self.until.max(ends + idle);
        let busy = ends.since(self.busy.max(begins));
        self.busy = self.busy.max(ends);
        let billed = self.until.since(before) + cold;
        Taken {
            wait: begins.since(now),
            cold_starts: 0,
            billed,
            idle: billed.saturating_sub(busy),
        }
    }
}

/// The places of one worker or pod: who has one, has it until a known moment.
#[derive(Debug, Clone, Default)]
pub struct Places {
    ends: BinaryHeap<Reverse<Moment>>,
}

impl Places {
    /// Whether one of `limit` places is free at `now`.
    pub fn has_room(&mut self, now: Moment, limit: u32) -> bool {
        self.ends.len() < limit.max(1) as usize || self.taken(now) < limit.max(1) as usize
    }

    /// Takes one until `end`.
    pub fn take(&mut self, end: Moment) {
        self.ends.push(Reverse(end));
    }

    /// How many are taken at `now`.
    pub fn taken(&mut self, now: Moment) -> usize {
        while self.ends.peek().is_some_and(|end| end.0 <= now) {
            self.ends.pop();
        }
        self.ends.len()
    }

    /// When the last of them ends; `None` when none is taken.
    pub fn last_end(&self) -> Option<Moment> {
        self.ends.iter().map(|end| end.0).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_billed_without_a_request_in_hand_is_told_apart() {
        let work = Work {
            cold_start: seconds(30),
            serverless_idle: seconds(5),
            ..Work::default()
        };
        let mut meter = ServerlessMeter::default();
        let mut take = |at, service| {
            let at = Moment::ORIGIN + seconds(at);
            let taken = meter.take(at, seconds(service), &work);
            (taken.billed, taken.idle)
        };
        assert_eq!(
            take(0, 3),
            (seconds(38), seconds(35)),
            "cold, then it stays"
        );
        assert_eq!(
            take(35, 4),
            (seconds(6), seconds(2)),
            "2 s after it was done"
        );
        assert_eq!(
            take(36, 2),
            (seconds(0), seconds(0)),
            "beside the other one"
        );
        assert_eq!(take(38, 3), (seconds(2), seconds(0)), "and beyond it");
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// What is billed of `requests` in the first second, with so many `in_hand` at the
    /// end of each.
    fn billed(meter: &mut ServerlessMeter, from: u64, requests: u64, in_hand: &[u64]) -> Duration {
        let work = Work {
            service: seconds(10),
            cold_start: Duration::ZERO,
            serverless_idle: seconds(5),
            concurrency: 16,
            ..Work::default()
        };
        let mut sum = Taken::default();
        for (second, in_hand) in (from..).zip(in_hand) {
            let count = Count {
                start: Moment::ORIGIN + seconds(second),
                span: seconds(1),
                requests: if second == from { requests } else { 0 },
                in_hand: *in_hand,
            };
            sum += meter.count(&count, &work);
        }
        sum.billed
    }

    #[test]
    fn a_flood_is_billed_once() {
        let mut meter = ServerlessMeter::default();
        // 20,000 seconds of work, 16 of them at a time.
        assert_eq!(billed(&mut meter, 0, 2_000, &[2_000; 10]), seconds(1_250));
    }

    #[test]
    fn a_worker_that_has_gone_is_not_billed_for_the_time_in_between() {
        let mut meter = ServerlessMeter::default();
        assert_eq!(billed(&mut meter, 0, 1, &[1]), seconds(10 + 5));
        // A request in hand that is not counted yet, an hour later.
        assert_eq!(billed(&mut meter, 3_600, 0, &[1]), seconds(1 + 5));
    }

    /// A stream of 8 s that was reckoned to take 1 s, looked at each second.
    #[test]
    fn what_takes_longer_than_reckoned_is_billed_until_it_ends() {
        for idle in [0, 3] {
            let work = Work {
                service: seconds(1),
                cold_start: seconds(2),
                serverless_idle: seconds(idle),
                ..Work::default()
            };
            let (mut meter, mut sum) = (ServerlessMeter::default(), Taken::default());
            for second in 0..20 {
                let count = Count {
                    start: Moment::ORIGIN + seconds(second),
                    span: seconds(1),
                    requests: u64::from(second == 0),
                    in_hand: u64::from(second < 10),
                };
                sum += meter.count(&count, &work);
            }
            // It comes at 0.5 s, is cold for 2 s and in hand until 10 s.
            let (billed, apart) = (Duration::from_millis(9_500), seconds(2 + idle));
            assert_eq!(sum.billed, billed + seconds(idle));
            assert_eq!((sum.idle, sum.cold_starts), (apart, 1));
        }
    }
}
