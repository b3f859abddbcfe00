//! Which job is next.
//!
//! While permits are free, subscriptions bring the jobs of models that are
//! ready. Once none has been free for a moment, subscriptions rest, so that
//! what nobody can run stays visible to others; when one frees, the next job is
//! taken from the queue whose oldest job has waited longest, until all are
//! empty. Cold queues are always looked into one job at a time, when there is
//! room for their models.

use std::time::Duration;

use thermocline_broker::Delivery;
use thermocline_policy::fleet::Residence;

use super::room::Room;
use super::{Agent, Phase};
use crate::event::{Event, Origin, Permit};

/// What was taken was brought by no subscription.
const TAKEN: Origin = 0;
/// How soon a queue is looked into again whose announced job was not there yet.
const NOT_YET: Duration = Duration::from_millis(150);

impl Agent {
    /// Does what can be done now; called after everything that happens.
    pub(super) fn pull(&mut self) {
        while self.tasks.try_join_next().is_some() {}
        while self.returns.try_join_next().is_some() {}
        // What is in hand is served also by a worker that takes nothing new.
        if self.phase != Phase::Down {
            self.answer_wishes();
        }
        if self.phase != Phase::Taking {
            return;
        }
        self.run_waiting();
        self.rest_or_wake();
        self.take_cold();
        self.subscribe();
    }

    /// Deliveries get the permits that are free; who waits too long goes back.
    fn run_waiting(&mut self) {
        while let Some(next) = self.next_waiting() {
            let Ok(permit) = self.permits().clone().try_acquire_owned() else {
                break;
            };
            if let Some(next) = self.waiting.remove(next) {
                self.assign(next.queue, next.delivery, Some(permit), next.origin);
            }
        }
        let now = self.clock.now();
        let patience = self.settings.moment;
        while let Some(first) = self.waiting.front() {
            if now.since(first.since) < patience {
                break;
            }
            if let Some(late) = self.waiting.pop_front() {
                self.give_up(late);
            }
        }
    }

    /// The first delivery whose model has room for one more.
    fn next_waiting(&self) -> Option<usize> {
        let waits = |queue: &str| self.waiting.iter().filter(|w| w.queue == queue).count() as u32;
        let has_room = |queue: &str| self.in_hand(queue) - waits(queue) < self.limit(queue);
        self.waiting
            .iter()
            .position(|waiting| has_room(&waiting.queue))
    }

    /// Subscriptions rest once no permit has been free for a moment, and wake
    /// when one is free and nothing waits that could be taken for it.
    fn rest_or_wake(&mut self) {
        let now = self.clock.now();
        if self.permits().available_permits() == 0 {
            let since = *self.busy_since.get_or_insert(now);
            self.paused |= now.since(since) >= self.settings.moment;
            return;
        }
        self.busy_since = None;
        while self.paused && self.permits().available_permits() > 0 {
            match self.next_warm() {
                Some(queue) => self.take_warm(queue),
                None if !self.taking.is_empty() => return,
                None => self.paused = false,
            }
        }
    }

    /// Of the queues whose models are ready, the one whose oldest job has waited longest.
    fn next_warm(&self) -> Option<String> {
        let now = self.clock.now();
        let open = self.served.keys().filter(|queue| {
            !self.taking.contains(*queue)
                && self.residents.residence(queue) == Residence::Resident
                && self.in_hand(queue) < self.limit(queue)
                && !self.makes_room(queue)
        });
        let waiting = open.filter_map(|queue| {
            let work = self.demands.of(queue, now)?;
            (work.waiting > 0).then_some((work.oldest, queue))
        });
        waiting.max().map(|(_, queue)| queue.clone())
    }

    fn take_warm(&mut self, queue: String) {
        if let Ok(permit) = self.permits().clone().try_acquire_owned() {
            self.take(queue, Some(permit));
        }
    }

    /// Looks into the cold queues that have work and whose models have room.
    fn take_cold(&mut self) {
        if !std::mem::take(&mut self.cold_changed) {
            return;
        }
        for queue in self.cold_queues() {
            match self.room_for(&queue) {
                Room::Now(promise) if promise.terms.pinned => self.load_pinned(&queue, promise),
                Room::Now(promise) => {
                    self.promised.insert(queue.clone(), promise);
                    self.take(queue, None);
                }
                Room::Later => {}
                Room::Never => self.put_off(&queue),
            }
        }
    }

    /// Cold queues that could be looked into, the longest wait first.
    fn cold_queues(&self) -> Vec<String> {
        let now = self.clock.now();
        let cold = self.served.keys().filter(|queue| {
            self.residents.residence(queue) == Residence::Absent
                && !self.taking.contains(*queue)
                && self.in_hand(queue) == 0
        });
        let age = |queue: &String| self.demands.of(queue, now).map(|work| work.oldest);
        let mut queues: Vec<String> = cold.cloned().collect();
        queues.sort_by_cached_key(|queue| std::cmp::Reverse(age(queue)));
        queues
    }

    fn take(&mut self, queue: String, permit: Option<Permit>) {
        self.taking.insert(queue.clone());
        let (broker, events) = (self.broker.clone(), self.events.clone());
        let trouble = self.trouble.clone();
        self.tasks.spawn(async move {
            let taken = broker.take(&queue).await;
            match &taken {
                Err(error) if trouble.begins() => {
                    tracing::warn!(queue, %error, "queues cannot be looked into");
                }
                Ok(_) if trouble.ends() => tracing::info!("queues are looked into again"),
                _ => {}
            }
            let delivery = taken.ok().flatten();
            let _agent_ended = events.send(Event::Taken {
                queue,
                delivery,
                permit,
            });
        });
    }

    /// What a look into a queue brought.
    pub(super) fn taken(
        &mut self,
        queue: String,
        delivery: Option<Delivery>,
        permit: Option<Permit>,
    ) {
        self.taking.remove(&queue);
        let now = self.clock.now();
        match delivery {
            Some(delivery) if self.phase == Phase::Taking => {
                self.demands.taken(&queue);
                self.hands.count(&queue, TAKEN);
                self.assign(queue, delivery, permit, TAKEN);
            }
            Some(delivery) => {
                self.promised.remove(&queue);
                self.give_back(delivery);
            }
            None => {
                self.promised.remove(&queue);
                if !self.demands.emptied(&queue, now) {
                    self.next_look = self.next_look.min(now + NOT_YET);
                    return;
                }
            }
        }
        self.cold_changed = true;
    }
}
