use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use futures_util::task::AtomicWaker;

use super::state::Message;
use super::timetable::Appointment;

/// A message's place in its queue; what comes back comes back to it.
pub(super) type Rank = u64;

/// Messages that wait, and who waits for them.
#[derive(Default)]
pub(super) struct Queue {
    waiting: BTreeMap<Rank, Message>,
    next_rank: Rank,
    consumers: HashMap<u64, Consumer>,
    /// Consumers that found nothing, the one that waits longest first.
    line: VecDeque<u64>,
    /// Messages that are of this queue but do not wait in it: held, or delayed.
    pub(super) elsewhere: usize,
    /// When it expires, while nobody uses it.
    pub(super) expiry: Option<Appointment>,
}

struct Consumer {
    prefetch: usize,
    in_hand: usize,
    in_line: bool,
    /// Whether it asked while it held all that it may.
    full: bool,
    waker: Arc<AtomicWaker>,
}

impl Queue {
    /// Puts `message` last.
    pub(super) fn push(&mut self, message: Message, woken: &mut Vec<Waker>) {
        self.next_rank += 1;
        self.insert(self.next_rank, message, woken);
    }

    /// Puts `message` where it was.
    pub(super) fn insert(&mut self, rank: Rank, message: Message, woken: &mut Vec<Waker>) {
        self.waiting.insert(rank, message);
        self.wake(woken);
    }

    pub(super) fn pop(&mut self) -> Option<(Rank, Message)> {
        self.waiting.pop_first()
    }

    /// The first message, for a consumer that may hold one more; otherwise it stands in line.
    pub(super) fn pop_for(&mut self, consumer: u64) -> Option<(Rank, Message)> {
        let asking = self.consumers.get_mut(&consumer)?;
        if asking.in_hand >= asking.prefetch {
            asking.full = true;
            return None;
        }
        if let Some(first) = self.waiting.pop_first() {
            asking.in_hand += 1;
            return Some(first);
        }
        if !std::mem::replace(&mut asking.in_line, true) {
            self.line.push_back(consumer);
        }
        None
    }

    pub(super) fn join(&mut self, id: u64, prefetch: usize, waker: Arc<AtomicWaker>) {
        let consumer = Consumer {
            prefetch,
            in_hand: 0,
            in_line: false,
            full: false,
            waker,
        };
        self.consumers.insert(id, consumer);
    }

    /// Forgets a consumer. Whatever it was woken for is for the others.
    pub(super) fn leave(&mut self, id: u64, woken: &mut Vec<Waker>) {
        self.consumers.remove(&id);
        self.line.retain(|waiting| *waiting != id);
        self.wake(woken);
    }

    /// A consumer holds one less.
    pub(super) fn release(&mut self, consumer: u64, woken: &mut Vec<Waker>) {
        if let Some(consumer) = self.consumers.get_mut(&consumer) {
            consumer.in_hand -= 1;
            if std::mem::take(&mut consumer.full) {
                woken.extend(consumer.waker.take());
            }
        }
    }

    /// Wakes all who wait, since one that is woken need not come.
    fn wake(&mut self, woken: &mut Vec<Waker>) {
        if self.waiting.is_empty() {
            return;
        }
        for id in self.line.drain(..) {
            if let Some(consumer) = self.consumers.get_mut(&id) {
                consumer.in_line = false;
                woken.extend(consumer.waker.take());
            }
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn consumers(&self) -> usize {
        self.consumers.len()
    }

    /// Whether it could expire: it holds nothing, and nobody serves it.
    pub(super) fn idle(&self) -> bool {
        self.waiting.is_empty() && self.consumers.is_empty() && self.elsewhere == 0
    }
}
