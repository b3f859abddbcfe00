//! Which queues are served: looked at anew every so often.

use std::collections::BTreeSet;

use thermocline_policy::Moment;
use thermocline_policy::fleet::{
    Identity, LeaveReason, Mib, QueueView, Terms, WorkerView, subscriptions,
};

use super::{Agent, Phase};
use crate::demand::Work;

/// What a queue's view is made of.
struct Row {
    queue: String,
    work: Option<Work>,
    terms: Option<Terms>,
    holders: Vec<Identity>,
    barred: Vec<Identity>,
}

pub(super) fn identity(queue: &str) -> Identity {
    Identity::of(queue)
}

impl Agent {
    /// Forgets what is old, lets go what is idle, and joins and leaves queues.
    pub(super) fn look(&mut self) {
        let now = self.clock.now();
        self.next_look = now + self.settings.look_every;
        self.demands.forget(now);
        self.peers.forget(&self.settings.eviction, now);
        self.rest_if_asked();
        self.ask_for_access(now);
        self.residents.forget(&self.settings.eviction, now);
        self.forget(now);
        self.adopt_left(now);
        if self.phase == Phase::Taking {
            self.residents
                .idle(now)
                .iter()
                .for_each(|model| self.let_go(model, now));
            self.choose_queues(now);
            self.shed_surplus();
            self.settle_turns(now);
            self.warm_up(now);
            self.widen_subscriptions();
            self.cold_changed = true;
        }
    }

    fn forget(&mut self, now: Moment) {
        let sticky = self.settings.scoring.half_stickiness * 8;
        self.last_served.retain(|_, at| now.since(*at) < sticky);
        let put_off = self.settings.scoring.half_stickiness * 10;
        self.avoided.retain(|_, it| !it.is_past(put_off, now));
    }

    /// An idle model stays until its memory is wanted, unless nobody speaks of it any more.
    fn let_go(&mut self, model: &str, now: Moment) {
        let spoken_of = self
            .demands
            .of(model, now)
            .is_some_and(|work| work.terms.is_some());
        if !spoken_of && self.in_hand(model) == 0 {
            tracing::info!(deployment = model, "unloaded: no gateway speaks of it");
            self.unload(model);
        }
    }

    fn choose_queues(&mut self, now: Moment) {
        let rows = self.rows(now);
        let views: Vec<QueueView> = rows.iter().map(|row| self.view(row)).collect();
        let (devices, peers) = (self.devices(), self.peers.all());
        let looked_into = self.served.keys().filter(|queue| !self.holds(queue));
        let looked_into: BTreeSet<String> = looked_into.cloned().collect();
        let worker = WorkerView {
            reported: self.report.peer,
            devices: &devices,
            cold: self.cold.available(now) + looked_into.len() as u32,
            peers: &peers,
        };
        let changes = subscriptions(&worker, &views, &self.settings.scoring, now);
        for leave in &changes.leave {
            tracing::debug!(queue = leave.queue, reason = ?leave.reason, "left");
            self.leave(leave.queue);
            if leave.reason == LeaveReason::OverCap {
                self.surplus.insert(leave.queue.to_owned());
            }
        }
        let wanted: BTreeSet<&str> = changes.join.iter().map(|join| join.queue).collect();
        for queue in looked_into
            .iter()
            .filter(|queue| !wanted.contains(queue.as_str()))
        {
            self.leave(queue);
        }
        for join in changes
            .join
            .iter()
            .filter(|join| !looked_into.contains(join.queue))
        {
            if !join.cold || self.cold.take(now).is_ok() {
                self.join(join.queue);
            }
        }
    }

    /// The queues that have work or are pinned, and those served or held here,
    /// but for those that went badly a moment ago.
    fn rows(&self, now: Moment) -> Vec<Row> {
        let held = self.residents.iter().map(|(name, _)| name);
        let served = self.served.keys().map(String::as_str);
        let known: BTreeSet<&str> = self
            .demands
            .queues()
            .into_iter()
            .chain(held)
            .chain(served)
            .collect();
        let rows = known
            .into_iter()
            .filter(|queue| !self.is_avoided(queue, now) && self.may_pull(queue));
        rows.map(|queue| self.row(queue, now)).collect()
    }

    fn row(&self, queue: &str, now: Moment) -> Row {
        let work = self.demands.of(queue, now);
        let entry = self.residents.get(queue);
        // A gateway that is silent says nothing about what is held.
        let terms = match &work {
            Some(work) => work.terms.as_ref(),
            None => entry.map(|entry| &entry.terms),
        };
        Row {
            terms: terms.map(Into::into),
            holders: self.peers.holders(identity(queue)),
            barred: self.peers.barred(queue),
            queue: queue.to_owned(),
            work,
        }
    }

    fn view<'a>(&self, row: &'a Row) -> QueueView<'a> {
        let work = row.work.as_ref();
        QueueView {
            queue: &row.queue,
            id: identity(&row.queue),
            terms: row.terms.as_ref(),
            waiting: work.map_or(0, |work| work.waiting),
            oldest: work.map_or_else(Default::default, |work| work.oldest),
            holders: &row.holders,
            barred: &row.barred,
            residence: self.residents.residence(&row.queue),
            subscribed: self.served.contains_key(&row.queue) && self.holds(&row.queue),
            last_served: self.last_served.get(&row.queue).copied(),
        }
    }

    /// What models may take of each device, without what pinned ones hold.
    fn devices(&self) -> Vec<Mib> {
        let devices = self.memory.devices().into_iter();
        let left = devices.zip(self.pinned());
        left.map(|(device, pinned)| device.total.less(pinned))
            .collect()
    }

    /// What pinned models hold of each device.
    pub(super) fn pinned(&self) -> Vec<Mib> {
        let views = self.views();
        let held = |device: usize| {
            let pinned = views
                .iter()
                .filter(|r| r.pinned && r.devices.contains(&device));
            pinned.map(|r| r.share).sum()
        };
        (0..self.memory.devices().len()).map(held).collect()
    }
}
