//! What waits.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use thermocline_policy::Moment;

use crate::traffic::Request;

/// Requests that wait for one model.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    pub(crate) waiting: VecDeque<Request>,
    /// Which of its consumers is next.
    turn: usize,
}

impl Queue {
    pub(crate) fn oldest(&self, now: Moment) -> Duration {
        let first = self.waiting.front();
        first.map_or(Duration::ZERO, |request| now.since(request.at))
    }
}

/// The queues of all models.
#[derive(Debug, Clone)]
pub(crate) struct Queues {
    pub(crate) of: Vec<Queue>,
    /// The models that requests wait for.
    pub(crate) waiting: BTreeSet<usize>,
}

impl Queues {
    pub(crate) fn new(models: usize) -> Self {
        Queues {
            of: vec![Queue::default(); models],
            waiting: BTreeSet::new(),
        }
    }

    /// Puts `request` into its queue; how many came into that before, this one included.
    pub(crate) fn push(&mut self, request: Request) -> usize {
        let queue = &mut self.of[request.model];
        queue.waiting.push_back(request);
        queue.turn += 1;
        self.waiting.insert(request.model);
        queue.turn
    }

    pub(crate) fn pop(&mut self, model: usize) -> Option<Request> {
        let queue = &mut self.of[model].waiting;
        let request = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&model);
        }
        request
    }

    /// The models that requests wait for, the longest wait first.
    pub(crate) fn by_wait(&self, now: Moment) -> Vec<usize> {
        let mut waiting: Vec<usize> = self.waiting.iter().copied().collect();
        waiting.sort_by_key(|model| Reverse(self.of[*model].oldest(now)));
        waiting
    }
}
