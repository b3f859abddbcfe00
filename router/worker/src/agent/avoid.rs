//! Queues that went badly here, and are left to others for a while.

use std::time::Duration;

use thermocline_policy::Moment;

use super::Agent;

/// How long a queue that went badly is not joined; it doubles.
const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(300);

/// A queue that is not joined.
pub(super) struct Avoided {
    until: Moment,
    /// How often it went badly in a row.
    times: u32,
    /// What went badly; another generation may go well.
    generation: Option<String>,
}

impl Avoided {
    /// Whether it has been over for so long that it says nothing any more.
    pub(super) fn is_past(&self, span: Duration, now: Moment) -> bool {
        now.since(self.until) >= span
    }
}

impl Agent {
    /// Leaves a queue that went badly for a while, so that others may have it.
    pub(super) fn put_off(&mut self, queue: &str) {
        let generation = self.generation(queue);
        let before = self.avoided.get(queue);
        let times = before
            .filter(|it| it.generation == generation)
            .map_or(0, |it| it.times);
        let pause = FIRST.saturating_mul(1 << times.min(6)).min(LONGEST);
        let avoided = Avoided {
            until: self.clock.now() + pause,
            times: times + 1,
            generation,
        };
        self.avoided.insert(queue.to_owned(), avoided);
        self.leave(queue);
    }

    /// Others hold its model, as many as may: it is let go here. This says
    /// nothing against the queue, and is soon looked at again.
    pub(super) fn yield_place(&mut self, queue: &str) {
        let avoided = Avoided {
            until: self.clock.now() + FIRST,
            times: 0,
            generation: self.generation(queue),
        };
        self.avoided.insert(queue.to_owned(), avoided);
        self.leave(queue);
        self.surplus.insert(queue.to_owned());
        self.shed_surplus();
    }

    /// Whether `queue` is left to others at `now`.
    pub(super) fn is_avoided(&self, queue: &str, now: Moment) -> bool {
        let avoided = self.avoided.get(queue).filter(|it| it.until > now);
        avoided.is_some_and(|it| {
            let generation = self.generation(queue);
            generation.is_none() || generation == it.generation
        })
    }

    /// The generation that gateways want of it now.
    fn generation(&self, queue: &str) -> Option<String> {
        let work = self.demands.of(queue, self.clock.now());
        work.map(|work| work.generation)
    }
}
