//! Whose turn it is: jobs of one model are put together, but nobody is passed
//! over for longer than the bound.

use std::collections::BTreeMap;
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_policy::fleet::{Admission, Residence, Waiting};

use super::Agent;

/// Gateways tell a job's age; what differs by less is the same job.
const SAME_JOB: Duration = Duration::from_millis(500);

impl Agent {
    /// Whether `queue` begins nothing new, since another's turn has come and
    /// its memory is wanted for that.
    pub(super) fn makes_room(&self, queue: &str) -> bool {
        self.making_room.contains(queue)
    }

    /// Finds out whose turn has come, and who makes room for it; nobody once it
    /// is being loaded.
    pub(super) fn settle_turns(&mut self, now: Moment) {
        self.note_firsts(now);
        // Once its job is in hand nobody announces it any more.
        let kept = self
            .due
            .take()
            .filter(|due| self.residents.get(due).is_none() && self.in_hand(due) > 0);
        self.due = kept.or_else(|| self.next_turn(now));
        let wanted = self.due.as_deref().and_then(|due| self.work(due));
        let admission = wanted.map(|(_, terms)| self.admission_once_idle(&terms));
        self.making_room = match admission {
            Some(Admission::Evict { idle, .. }) => idle.into_iter().map(str::to_owned).collect(),
            _ => Default::default(),
        };
    }

    /// The cold queue that is next, if one is.
    fn next_turn(&mut self, now: Moment) -> Option<String> {
        let mut waiting: Vec<Waiting> = self
            .firsts
            .iter()
            .map(|(queue, since)| Waiting {
                model: queue,
                since: *since,
                warm: self.residents.residence(queue) != Residence::Absent,
            })
            .collect();
        waiting.sort_by_key(|first| first.since);
        let next = waiting.get(self.regroup.next(&waiting, now)?)?;
        (!next.warm).then(|| next.model.to_owned())
    }

    /// Since when the first job of each queue waits that is served here.
    fn note_firsts(&mut self, now: Moment) {
        let queues = self.served.keys();
        let measured = queues.filter_map(|queue| {
            let work = self.demands.of(queue, now)?;
            let waits = work.waiting > 0 || self.waiting.iter().any(|w| w.queue == *queue);
            waits.then(|| (queue.clone(), now.before(work.oldest)))
        });
        let known = &self.firsts;
        let firsts: BTreeMap<String, Moment> = measured
            .map(|(queue, since)| {
                let before = known.get(&queue).filter(|before| is_same(**before, since));
                let since = before.copied().unwrap_or(since);
                (queue, since)
            })
            .collect();
        self.firsts = firsts;
    }
}

fn is_same(one: Moment, other: Moment) -> bool {
    one.since(other).max(other.since(one)) < SAME_JOB
}
