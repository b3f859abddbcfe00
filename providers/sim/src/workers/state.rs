use std::collections::VecDeque;

use thermocline_policy::Moment;
use tokio::sync::oneshot;

use super::Worker;

/// Who works, who idles and who waits.
#[derive(Default)]
pub(super) struct State {
    pub(super) busy: usize,
    pub(super) booting: usize,
    /// When each idle worker goes, soonest first.
    pub(super) idle: VecDeque<Moment>,
    /// Whether a task is letting workers go.
    pub(super) reaping: bool,
    pub(super) queue: VecDeque<oneshot::Sender<Worker>>,
}

impl State {
    /// Every worker there is, those on their way up too.
    pub(super) fn workers(&self) -> usize {
        self.busy + self.booting + self.idle.len()
    }

    /// Puts the worker that idled shortest to work, so that the others may go.
    pub(super) fn take_idle(&mut self) -> bool {
        let idle = self.idle.pop_back().is_some();
        self.busy += usize::from(idle);
        idle
    }

    /// Counts one more worker that starts, if one may and is of use.
    pub(super) fn begin_boot(&mut self, most: u32) -> bool {
        self.queue.retain(|turn| !turn.is_closed());
        let of_use = self.booting < self.queue.len() && self.workers() < most as usize;
        self.booting += usize::from(of_use);
        of_use
    }

    /// Lets go whose time is up; when the next one's is, if there is one.
    pub(super) fn next_departure(&mut self, now: Moment) -> Option<Moment> {
        while self.idle.front().is_some_and(|end| *end <= now) {
            self.idle.pop_front();
        }
        let next = self.idle.front().copied();
        self.reaping = next.is_some();
        next
    }
}
