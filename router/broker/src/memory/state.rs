use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use thermocline_policy::Moment;

use super::queue::{Queue, Rank};
use super::timetable::{Appointment, Timetable};
use crate::{Burial, Depth, Limits, Lost};

/// Where a message is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// In a deployment's queue.
    Queue(Arc<str>),
    /// Among the dead letters.
    Dead,
}

impl Place {
    pub(super) fn queue(name: &str) -> Self {
        Place::Queue(name.into())
    }
}

/// What waits, and what it has been through.
#[derive(Clone)]
pub(super) struct Message {
    pub(super) body: Bytes,
    /// Attempts that were counted by whoever put it here.
    pub(super) attempts: u32,
    /// Deliveries since then that nobody settled.
    pub(super) returns: u32,
    /// Which queue it was in and why it is dead, among the dead letters.
    pub(super) burial: Option<(Arc<str>, Burial)>,
}

impl Message {
    pub(super) fn new(body: Bytes) -> Self {
        Message {
            body,
            attempts: 0,
            returns: 0,
            burial: None,
        }
    }

    /// Attempts of both kinds.
    pub(super) fn all_attempts(&self) -> u32 {
        self.attempts.saturating_add(self.returns)
    }
}

/// A message that somebody holds.
struct Held {
    place: Place,
    rank: Rank,
    message: Message,
    consumer: Option<u64>,
    lapse: Appointment,
}

/// What happens by itself.
enum Due {
    Lapse(u64),
    Return(Place, Message),
    Expire(Place),
}

/// All queues, all deliveries in somebody's hands, and what is due when.
pub(super) struct State {
    queues: HashMap<Place, Queue>,
    held: HashMap<u64, Held>,
    due: Timetable<Due>,
    serial: u64,
    limits: Limits,
    /// When the task looks again.
    looks_at: Moment,
    /// Whom to wake once the lock is free.
    pub(super) woken: Vec<Waker>,
}

impl State {
    pub(super) fn new(limits: Limits) -> Self {
        State {
            queues: HashMap::new(),
            held: HashMap::new(),
            due: Timetable::new(),
            serial: 0,
            limits,
            looks_at: Moment::NEVER,
            woken: Vec::new(),
        }
    }

    pub(super) fn publish(&mut self, place: Place, message: Message, now: Moment) {
        self.change(&place, now, |queue, woken| queue.push(message, woken));
    }

    /// The first message of `place`, for whoever asks.
    pub(super) fn take(&mut self, place: &Place, now: Moment) -> Option<(u64, Message)> {
        let (rank, message) = self.queues.get_mut(place)?.pop()?;
        Some(self.hand_over(place, rank, message, None, now))
    }

    /// The first message of `place`, if `consumer` may have it now.
    pub(super) fn next(
        &mut self,
        place: &Place,
        consumer: u64,
        now: Moment,
    ) -> Option<(u64, Message)> {
        let (rank, message) = self.queues.get_mut(place)?.pop_for(consumer)?;
        Some(self.hand_over(place, rank, message, Some(consumer), now))
    }

    pub(super) fn depth(&self, place: &Place) -> Depth {
        self.queues
            .get(place)
            .map_or(Depth::default(), |queue| Depth {
                waiting: queue.waiting() as u64,
                consumers: u32::try_from(queue.consumers()).unwrap_or(u32::MAX),
            })
    }

    /// A new consumer's name.
    pub(super) fn join(
        &mut self,
        place: &Place,
        prefetch: usize,
        waker: Arc<AtomicWaker>,
        now: Moment,
    ) -> u64 {
        self.serial += 1;
        let id = self.serial;
        self.change(place, now, |queue, _| queue.join(id, prefetch, waker));
        id
    }

    pub(super) fn leave(&mut self, place: &Place, consumer: u64, now: Moment) {
        self.change(place, now, |queue, woken| queue.leave(consumer, woken));
    }

    pub(super) fn ack(&mut self, id: u64, now: Moment) -> Result<(), Lost> {
        self.release(id, now).map(drop)
    }

    pub(super) fn give_back(&mut self, id: u64, now: Moment) -> Result<(), Lost> {
        let held = self.release(id, now)?;
        self.restore(held, now);
        Ok(())
    }

    /// Its holder is gone, without a word.
    pub(super) fn give_up(&mut self, id: u64, now: Moment) {
        let Ok(mut held) = self.release(id, now) else {
            return;
        };
        held.message.returns += 1;
        let beyond = held.message.returns > self.limits.deliveries;
        match &held.place {
            Place::Queue(name) if beyond => {
                held.message.burial = Some((name.clone(), Burial::Undeliverable));
                self.publish(Place::Dead, held.message, now);
            }
            _ => self.restore(held, now),
        }
    }

    pub(super) fn retry(
        &mut self,
        id: u64,
        body: Bytes,
        delay: Duration,
        now: Moment,
    ) -> Result<(), Lost> {
        let held = self.release(id, now)?;
        let message = Message {
            body,
            attempts: held.message.all_attempts().saturating_add(1),
            returns: 0,
            burial: held.message.burial,
        };
        if delay.is_zero() {
            self.publish(held.place, message, now);
        } else {
            self.change(&held.place, now, |queue, _| queue.elsewhere += 1);
            self.due.add(now + delay, Due::Return(held.place, message));
        }
        Ok(())
    }

    pub(super) fn bury(
        &mut self,
        id: u64,
        body: Bytes,
        report: Bytes,
        now: Moment,
    ) -> Result<(), Lost> {
        let held = self.release(id, now)?;
        let from = match (held.place, held.message.burial) {
            (Place::Queue(name), _) | (Place::Dead, Some((name, _))) => name,
            (Place::Dead, None) => Arc::default(),
        };
        let message = Message {
            body,
            burial: Some((from, Burial::GivenUp { report })),
            ..held.message
        };
        self.publish(Place::Dead, message, now);
        Ok(())
    }

    pub(super) fn renew(&mut self, id: u64, now: Moment) -> Result<(), Lost> {
        let held = self.held.get_mut(&id).ok_or(Lost)?;
        self.due.cancel(held.lapse);
        held.lapse = self.due.add(now + self.limits.lease, Due::Lapse(id));
        Ok(())
    }

    /// Does what is due by `now`; says when to come again.
    pub(super) fn tick(&mut self, now: Moment) -> Moment {
        while let Some(due) = self.due.pop_due(now) {
            match due {
                Due::Lapse(id) => self.give_up(id, now),
                Due::Return(place, message) => self.change(&place, now, |queue, woken| {
                    queue.elsewhere -= 1;
                    queue.push(message, woken);
                }),
                Due::Expire(place) => drop(self.queues.remove(&place)),
            }
        }
        self.looks_at = self.due.next();
        self.looks_at
    }

    /// Whether something has become due before the task looks again.
    pub(super) fn look_sooner(&mut self) -> bool {
        let next = self.due.next();
        let sooner = next < self.looks_at;
        self.looks_at = self.looks_at.min(next);
        sooner
    }

    fn hand_over(
        &mut self,
        place: &Place,
        rank: Rank,
        message: Message,
        consumer: Option<u64>,
        now: Moment,
    ) -> (u64, Message) {
        self.serial += 1;
        let id = self.serial;
        let held = Held {
            place: place.clone(),
            rank,
            message: message.clone(),
            consumer,
            lapse: self.due.add(now + self.limits.lease, Due::Lapse(id)),
        };
        self.held.insert(id, held);
        self.change(place, now, |queue, _| queue.elsewhere += 1);
        (id, message)
    }

    /// Takes a delivery out of its holder's hands.
    fn release(&mut self, id: u64, now: Moment) -> Result<Held, Lost> {
        let held = self.held.remove(&id).ok_or(Lost)?;
        self.due.cancel(held.lapse);
        self.change(&held.place, now, |queue, woken| {
            queue.elsewhere -= 1;
            if let Some(consumer) = held.consumer {
                queue.release(consumer, woken);
            }
        });
        Ok(held)
    }

    fn restore(&mut self, held: Held, now: Moment) {
        self.change(&held.place, now, |queue, woken| {
            queue.insert(held.rank, held.message, woken);
        });
    }

    /// Changes a queue, which comes into being with it; it expires once it is idle.
    fn change(
        &mut self,
        place: &Place,
        now: Moment,
        what: impl FnOnce(&mut Queue, &mut Vec<Waker>),
    ) {
        let queue = self.queues.entry(place.clone()).or_default();
        what(queue, &mut self.woken);
        match (queue.idle(), queue.expiry) {
            (true, None) => {
                let at = now + self.limits.queue_idle;
                queue.expiry = Some(self.due.add(at, Due::Expire(place.clone())));
            }
            (false, Some(expiry)) => {
                self.due.cancel(expiry);
                queue.expiry = None;
            }
            _ => {}
        }
    }
}
