use std::collections::VecDeque;
use std::time::Duration;

use crate::Moment;

/// Up at once, down slowly: the most that was wanted within the window holds.
/// (Kubernetes' autoscaler calls it the stabilisation window.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stabiliser {
    window: Duration,
    /// When what was wanted; later ones are smaller.
    wanted: VecDeque<(Moment, u32)>,
}

impl Stabiliser {
    /// Wishes of the last `window` hold.
    pub const fn new(window: Duration) -> Self {
        Stabiliser {
            window,
            wanted: VecDeque::new(),
        }
    }

    /// What to have at `now`, when `wanted` is wanted and `current` is there. What is
    /// there counts as wanted when the first wish comes, so a restart scales nothing down.
    pub fn settle(&mut self, wanted: u32, current: u32, now: Moment) -> u32 {
        if self.wanted.is_empty() {
            self.push(current, now);
        }
        self.push(wanted, now);
        let expired = |(at, _): &(Moment, u32)| now.since(*at) > self.window;
        while self.wanted.len() > 1 && self.wanted.front().is_some_and(expired) {
            self.wanted.pop_front();
        }
        self.wanted.front().map_or(wanted, |(_, most)| *most)
    }

    fn push(&mut self, wanted: u32, now: Moment) {
        while self
            .wanted
            .back()
            .is_some_and(|(_, earlier)| *earlier <= wanted)
        {
            self.wanted.pop_back();
        }
        self.wanted.push_back((now, wanted));
    }
}
