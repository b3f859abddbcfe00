//! The queues that are served, and the jobs in hand.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use thermocline_broker::{Broker, Delivery};
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use thermocline_policy::fleet::Residence;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Agent, Phase, Waiting};
use crate::event::{Assignment, End, Event, Events, Origin, Permit};
use crate::limit::limit;
use crate::trouble::Trouble;

/// After a subscription ended, or could not be made.
const SUBSCRIBE_AGAIN: Duration = Duration::from_secs(1);

/// A queue that this worker serves.
#[derive(Default)]
pub(super) struct Served {
    /// The subscription and its prefetch, while it does not rest.
    consumer: Option<Consumer>,
}

/// A subscription; it ends when dropped.
struct Consumer {
    origin: Origin,
    prefetch: u32,
    _end: DropGuard,
}

impl Agent {
    /// A subscription brought a job.
    pub(super) fn delivered(&mut self, queue: String, origin: Origin, delivery: Delivery) {
        self.demands.taken(&queue);
        let ready = self.residents.residence(&queue) == Residence::Resident;
        if self.phase != Phase::Taking || !ready || self.makes_room(&queue) {
            return self.give_back(delivery);
        }
        self.hands.count(&queue, origin);
        self.waiting.push_back(Waiting {
            queue,
            origin,
            delivery,
            since: self.clock.now(),
        });
    }

    /// Back to its queue: it was not begun.
    pub(super) fn give_back(&mut self, delivery: Delivery) {
        self.returns.spawn(async move {
            let _lost_is_as_good = delivery.give_back().await;
        });
    }

    /// One that waited for a permit goes back.
    pub(super) fn give_up(&mut self, waiting: Waiting) {
        self.hands.discount(&waiting.queue, waiting.origin);
        self.demands.perhaps_more(&waiting.queue);
        self.give_back(waiting.delivery);
    }

    /// Assigns a job. Without a permit it loads its model first.
    pub(super) fn assign(
        &mut self,
        queue: String,
        delivery: Delivery,
        permit: Option<Permit>,
        origin: Origin,
    ) {
        let now = self.clock.now();
        self.last_served.insert(queue.clone(), now);
        let terms = self.demands.of(&queue, now).and_then(|work| work.terms);
        let assignment = Assignment {
            max_attempts: terms.map_or(self.settings.patience.max_attempts, |t| t.max_attempts),
            yields: self.hands.yields(&queue),
            queue,
            delivery,
            permit,
            origin,
        };
        self.tasks.spawn(self.bench.clone().work(assignment));
    }

    /// A job is settled.
    pub(super) fn settled(&mut self, queue: &str, origin: Origin, end: End) {
        self.hands.discount(queue, origin);
        if self.in_hand(queue) == 0 {
            self.promised.remove(queue);
        }
        let entry = self.residents.get(queue);
        self.cold_changed |= entry.is_none_or(|entry| entry.in_flight == 0);
        match end {
            End::Answered => {
                self.avoided.remove(queue);
            }
            End::Died => {
                self.inspect();
                self.put_off(queue);
            }
            End::Capped => self.yield_place(queue),
            End::Barred => {
                self.put_off(queue);
                self.ask_anew();
            }
            End::NoRoom | End::GivenBack => self.put_off(queue),
            // What nobody wants is announced by nobody: there may be more of it.
            End::Unwanted => self.demands.perhaps_more(queue),
            End::Lost | End::Retried | End::Buried => {}
        }
    }

    pub(super) fn join(&mut self, queue: &str) {
        self.surplus.remove(queue);
        self.served.entry(queue.to_owned()).or_default();
    }

    pub(super) fn leave(&mut self, queue: &str) {
        self.served.remove(queue);
    }

    /// Takes nothing more: subscriptions end, what has no permit goes back.
    pub(super) fn stop_taking(&mut self) {
        self.served.clear();
        self.due = None;
        for waiting in std::mem::take(&mut self.waiting) {
            self.give_up(waiting);
        }
    }

    /// Jobs of `queue` in hand.
    pub(super) fn in_hand(&self, queue: &str) -> u32 {
        self.hands.of(queue)
    }

    /// Jobs of `queue` that this worker may have in hand.
    pub(super) fn limit(&self, queue: &str) -> u32 {
        let entry = self.residents.get(queue);
        entry.map_or(1, |entry| limit(&entry.terms, self.settings.permits))
    }

    /// Subscribes where a model is ready, and nowhere else.
    pub(super) fn subscribe(&mut self) {
        let queues = self.served.iter();
        let amiss = queues.filter(|(queue, served)| self.wants(queue) != served.consumer.is_some());
        let amiss: Vec<String> = amiss.map(|(queue, _)| queue.clone()).collect();
        amiss.iter().for_each(|queue| self.subscribe_anew(queue));
    }

    /// Subscribes anew where a subscription brings fewer jobs than it could:
    /// those in hand before it began counted against it, and have ended.
    pub(super) fn widen_subscriptions(&mut self) {
        let queues = self.served.iter();
        let narrow = queues.filter(|(queue, served)| {
            let consumer = served.consumer.as_ref();
            consumer.is_some_and(|it| {
                it.prefetch + self.hands.foreign(queue, it.origin) < self.limit(queue)
            })
        });
        let narrow: Vec<String> = narrow.map(|(queue, _)| queue.clone()).collect();
        narrow.iter().for_each(|queue| self.subscribe_anew(queue));
    }

    /// Whether a subscription to `queue` may bring jobs.
    fn wants(&self, queue: &str) -> bool {
        let ready = self.residents.residence(queue) == Residence::Resident;
        let rests = self.paused || self.makes_room(queue);
        let served = self.served.get(queue);
        let has = served.is_some_and(|served| served.consumer.is_some());
        ready && !rests && (has || self.in_hand(queue) < self.limit(queue))
    }

    /// Ends the subscription to `queue`, and begins one where it is wanted.
    fn subscribe_anew(&mut self, queue: &str) {
        if let Some(served) = self.served.get_mut(queue) {
            served.consumer = None;
        }
        if !self.wants(queue) {
            return;
        }
        let consumer = self.consumer(queue);
        if let Some(served) = self.served.get_mut(queue) {
            served.consumer = Some(consumer);
        }
    }

    /// A subscription. What is in hand counts against the same limit.
    fn consumer(&mut self, queue: &str) -> Consumer {
        self.subscriptions += 1;
        let (origin, end) = (self.subscriptions, CancellationToken::new());
        let prefetch = self.limit(queue).saturating_sub(self.in_hand(queue));
        let consuming = consume(
            self.broker.clone(),
            (queue.to_owned(), origin),
            u16::try_from(prefetch).unwrap_or(u16::MAX),
            self.events.clone(),
            self.clock.clone(),
        );
        let _end = end.clone().drop_guard();
        self.tasks.spawn(async move {
            end.run_until_cancelled_owned(consuming).await;
        });
        Consumer {
            origin,
            prefetch,
            _end,
        }
    }

    /// Whether this worker serves `queue` as others count it: it holds the
    /// model, loads it, or has a job in hand. To look into a queue is not that.
    pub(super) fn holds(&self, queue: &str) -> bool {
        self.residents.residence(queue) != Residence::Absent || self.in_hand(queue) > 0
    }

    /// When the first delivery without a permit has waited long enough, or all
    /// permits have been taken for long enough.
    pub(super) fn next_moment(&self) -> Moment {
        let first = self.waiting.front().map(|waiting| waiting.since);
        let busy = self.busy_since.filter(|_| !self.paused);
        let since = first.into_iter().chain(busy).min();
        since.map_or(Moment::NEVER, |since| since + self.settings.moment)
    }
}

async fn consume(
    broker: Arc<dyn Broker>,
    (queue, origin): (String, Origin),
    prefetch: u16,
    events: Events,
    clock: Clock,
) {
    let trouble = Trouble::default();
    loop {
        match broker.consume(&queue, prefetch).await {
            Ok(mut deliveries) => {
                if trouble.ends() {
                    tracing::info!(queue, "subscribed again");
                }
                while let Some(delivery) = deliveries.next().await {
                    let queue = queue.clone();
                    let _agent_ended = events.send(Event::Delivered {
                        queue,
                        origin,
                        delivery,
                    });
                }
            }
            Err(error) if trouble.begins() => {
                tracing::warn!(queue, %error, "a queue cannot be subscribed to");
            }
            Err(_) => {}
        }
        clock.sleep(SUBSCRIBE_AGAIN).await;
    }
}
