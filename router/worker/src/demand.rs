//! What gateways announce: which queues have work.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_wire::fleet::{Demand, QueueDemand, Terms};

/// Work of all gateways, as last heard. One that is silent for longer than it
/// said is forgotten with all it announced.
#[derive(Debug, Default)]
pub(crate) struct Demands {
    gateways: BTreeMap<String, Heard>,
}

#[derive(Debug)]
struct Heard {
    sequence: u64,
    at: Moment,
    until: Moment,
    /// Whether all its queues were told.
    whole: bool,
    queues: BTreeMap<String, QueueDemand>,
    /// When work of a queue was last told.
    told: BTreeMap<String, Moment>,
    draining: Vec<String>,
}

/// How long a job may be on its way into its queue after it was announced: a new
/// queue has to be made first.
const ON_ITS_WAY: Duration = Duration::from_secs(2);

/// One queue's work over all gateways.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work {
    /// Jobs that nobody has claimed.
    pub(crate) waiting: u32,
    /// How long the oldest of them has waited.
    pub(crate) oldest: Duration,
    /// By the gateway that was heard last; `None` once the deployment is gone.
    pub(crate) terms: Option<Terms>,
    /// A gateway that knows the deployment.
    pub(crate) reply_to: String,
    /// The generation that it runs.
    pub(crate) generation: String,
}

impl Demands {
    /// Takes an announcement in, unless a newer one of its gateway was heard.
    /// An earlier life of a gateway may have counted higher: what is whole counts.
    pub(crate) fn hear(&mut self, demand: Demand, now: Moment) {
        let until = now + Duration::from_millis(demand.valid_ms);
        let heard = self.gateways.entry(demand.gateway).or_insert(Heard {
            sequence: 0,
            at: now,
            until,
            whole: false,
            queues: BTreeMap::new(),
            told: BTreeMap::new(),
            draining: Vec::new(),
        });
        if demand.sequence < heard.sequence && !demand.whole {
            return;
        }
        if demand.whole {
            heard.queues.clear();
            heard.told.clear();
        }
        heard.whole |= demand.whole;
        (heard.sequence, heard.at, heard.until) = (demand.sequence, now, until);
        heard.draining = demand.draining;
        let with_work = demand.queues.iter().filter(|queue| queue.waiting > 0);
        let told = with_work.map(|queue| (queue.deployment.clone(), now));
        heard.told.extend(told);
        let queues = demand.queues.into_iter();
        heard
            .queues
            .extend(queues.map(|queue| (queue.deployment.clone(), queue)));
    }

    /// Forgets gateways that are silent.
    pub(crate) fn forget(&mut self, now: Moment) {
        self.gateways.retain(|_, heard| heard.until > now);
    }

    /// Whether every gateway that was heard has told all its queues, and there is one.
    pub(crate) fn is_whole(&self) -> bool {
        !self.gateways.is_empty() && self.gateways.values().all(|heard| heard.whole)
    }

    /// Whether a gateway wants `worker` to take no more.
    pub(crate) fn drains(&self, worker: &str) -> bool {
        let mut said = self.gateways.values().flat_map(|heard| &heard.draining);
        said.any(|name| name == worker)
    }

    /// The gateways that are heard of, by their reply addresses.
    pub(crate) fn gateways(&self) -> BTreeSet<String> {
        let named = self.gateways.keys().filter(|it| !it.is_empty());
        named.cloned().collect()
    }

    /// Whether `reply_to` has been heard and is not silent.
    pub(crate) fn knows(&self, reply_to: &str, now: Moment) -> bool {
        let heard = self.gateways.get(reply_to);
        heard.is_some_and(|heard| heard.until > now)
    }

    /// Nobody waits in `deployment`, as far as one could see by looking at `now`;
    /// whether that is so, and no job can still be on its way.
    pub(crate) fn emptied(&mut self, deployment: &str, now: Moment) -> bool {
        let mut empty = true;
        for heard in self.gateways.values_mut() {
            let told = heard.told.get(deployment);
            let on_its_way = told.is_some_and(|at| now.since(*at) < ON_ITS_WAY);
            match heard.queues.get_mut(deployment) {
                Some(queue) if on_its_way => empty &= queue.waiting == 0,
                Some(queue) => (queue.waiting, queue.oldest_ms) = (0, 0),
                None => {}
            }
        }
        empty
    }

    /// There may be more in `deployment` than is announced.
    pub(crate) fn perhaps_more(&mut self, deployment: &str) {
        let said = self.gateways.values_mut();
        let mut queues = said.filter_map(|heard| heard.queues.get_mut(deployment));
        if let Some(queue) = queues.next() {
            queue.waiting = queue.waiting.max(1);
        }
    }

    /// One job of `deployment` was taken.
    pub(crate) fn taken(&mut self, deployment: &str) {
        let queues = self.gateways.values_mut();
        let waiting = queues
            .filter_map(|heard| heard.queues.get_mut(deployment))
            .find(|queue| queue.waiting > 0);
        if let Some(queue) = waiting {
            queue.waiting -= 1;
        }
    }

    /// The queues that were announced.
    pub(crate) fn queues(&self) -> BTreeSet<&str> {
        let queues = self.gateways.values().flat_map(|heard| heard.queues.keys());
        queues.map(String::as_str).collect()
    }

    /// The work of one queue; `None` when no gateway speaks of it.
    pub(crate) fn of(&self, deployment: &str, now: Moment) -> Option<Work> {
        let said = self.gateways.iter().filter_map(|(reply_to, heard)| {
            let queue = heard.queues.get(deployment)?;
            Some((reply_to, heard.at, queue))
        });
        let mut said: Vec<(&String, Moment, &QueueDemand)> = said.collect();
        said.sort_by_key(|(_, at, _)| *at);
        let (reply_to, _, newest) = said.last()?;
        let oldest = said.iter().filter(|(_, _, queue)| queue.waiting > 0);
        let oldest = oldest.map(|(_, at, queue)| age(queue) + now.since(*at));
        Some(Work {
            waiting: said.iter().map(|(_, _, queue)| queue.waiting).sum(),
            oldest: oldest.max().unwrap_or_default(),
            terms: newest.terms.clone(),
            reply_to: (*reply_to).clone(),
            generation: newest.generation.clone(),
        })
    }
}

fn age(queue: &QueueDemand) -> Duration {
    Duration::from_millis(queue.oldest_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_origin(Duration::from_secs(seconds))
    }

    fn said(gateway: &str, sequence: u64, whole: bool, queues: &[(&str, u32)]) -> Demand {
        let queue = |(name, waiting): &(&str, u32)| QueueDemand {
            deployment: (*name).to_owned(),
            waiting: *waiting,
            oldest_ms: 500,
            generation: "1".into(),
            terms: Some(Terms::default()),
        };
        Demand {
            gateway: gateway.to_owned(),
            sequence,
            whole,
            valid_ms: 10_000,
            queues: queues.iter().map(queue).collect(),
            draining: Vec::new(),
        }
    }

    #[test]
    fn work_of_several_gateways_adds_up_and_grows_older() {
        let mut demands = Demands::default();
        demands.hear(said("http://a", 1, true, &[("m", 2)]), at(0));
        demands.hear(said("http://b", 1, true, &[("m", 3)]), at(1));
        let work = demands.of("m", at(3)).unwrap();
        assert_eq!(
            (work.waiting, work.oldest),
            (5, Duration::from_millis(3_500))
        );
        assert_eq!(work.reply_to, "http://b");
    }

    #[test]
    fn changes_add_to_the_whole_and_older_ones_are_not_heard() {
        let mut demands = Demands::default();
        demands.hear(said("http://a", 1, true, &[("m", 2), ("n", 1)]), at(0));
        assert!(demands.is_whole());
        demands.hear(said("http://b", 1, false, &[("m", 0)]), at(0));
        assert!(!demands.is_whole());
        demands.gateways.remove("http://b");
        demands.hear(said("http://a", 3, false, &[("m", 0)]), at(1));
        demands.hear(said("http://a", 2, false, &[("m", 9)]), at(1));
        assert_eq!(demands.of("m", at(1)).unwrap().waiting, 0);
        assert_eq!(demands.of("n", at(1)).unwrap().waiting, 1);
        demands.hear(said("http://a", 1, true, &[("n", 4)]), at(2));
        assert_eq!(demands.queues(), ["n"].into());
    }

    #[test]
    fn a_gateway_that_is_silent_is_forgotten() {
        let mut demands = Demands::default();
        demands.hear(said("http://a", 1, true, &[("m", 2)]), at(0));
        assert!(demands.knows("http://a", at(9)) && !demands.knows("http://a", at(10)));
        demands.forget(at(10));
        assert_eq!(demands.of("m", at(10)), None);
    }

    #[test]
    fn what_was_taken_does_not_wait_any_more() {
        let mut demands = Demands::default();
        demands.hear(said("http://a", 1, true, &[("m", 2)]), at(0));
        demands.taken("m");
        assert_eq!(demands.of("m", at(0)).unwrap().waiting, 1);
        assert!(demands.emptied("m", at(2)));
        assert_eq!(demands.of("m", at(2)).unwrap().waiting, 0);
    }

    #[test]
    fn what_was_only_just_announced_may_not_have_come_into_its_queue() {
        let mut demands = Demands::default();
        demands.hear(said("http://a", 1, true, &[("m", 0)]), at(0));
        demands.hear(said("http://a", 2, false, &[("m", 1)]), at(60));
        assert!(!demands.emptied("m", at(61)));
        assert_eq!(demands.of("m", at(61)).unwrap().waiting, 1);
        demands.taken("m");
        assert!(demands.emptied("m", at(61)), "it was taken");
    }
}
