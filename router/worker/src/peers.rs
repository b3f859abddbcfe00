//! What the other workers report.

mod elsewhere;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_policy::fleet::{Eviction, Heat, Identity, Mib, Peer};
use thermocline_wire::fleet::{Report, Resident, WorkerState, allows};

use elsewhere::Elsewhere;

/// Other workers, as last heard. One that is silent for longer than it said is forgotten;
/// how much it used its models is not, since others are asked for them now.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    heard: BTreeMap<String, Heard>,
    heat: Elsewhere,
}

#[derive(Debug)]
struct Heard {
    peer: Peer,
    takes: bool,
    serves: BTreeSet<Identity>,
    holds: Vec<Resident>,
    may_pull: Option<Vec<String>>,
    until: Moment,
    incarnation: String,
    sequence: u64,
}

impl Peers {
    /// Takes a report in, unless a newer one of the same life was heard.
    pub(crate) fn hear(&mut self, report: &Report, now: Moment) {
        let stale = self.heard.get(&report.worker).is_some_and(|heard| {
            heard.incarnation == report.incarnation && heard.sequence > report.sequence
        });
        if !stale {
            let resident = report.resident.iter();
            let used = resident.map(|it| (it.deployment.as_str(), it.heat));
            self.heat.hear(&report.incarnation, used, now);
            self.heard.insert(report.worker.clone(), heard(report, now));
        }
    }

    /// Forgets workers that are silent.
    pub(crate) fn forget(&mut self, rules: &Eviction, now: Moment) {
        self.heard.retain(|_, heard| heard.until > now);
        self.heat.forget(rules.half_life, now);
    }

    /// How much others use `model`, and used it.
    pub(crate) fn heat(&self, model: &str, half_life: Duration) -> Heat {
        self.heat.of(model, half_life)
    }

    /// Those that take jobs.
    pub(crate) fn all(&self) -> Vec<Peer> {
        let taking = self.heard.values().filter(|heard| heard.takes);
        taking.map(|heard| heard.peer).collect()
    }

    /// The models that those hold.
    pub(crate) fn famous(&self) -> BTreeMap<&str, Fame> {
        let mut famous: BTreeMap<&str, Fame> = BTreeMap::new();
        let taking = self.heard.values().filter(|heard| heard.takes);
        for held in taking.flat_map(|heard| &heard.holds) {
            let fame = famous.entry(&held.deployment).or_default();
            fame.heat += held.heat;
            fame.load_time = fame.load_time.max(Duration::from_millis(held.load_ms));
            fame.holders += 1;
        }
        famous
    }

    /// Those that may not pull `queue`.
    pub(crate) fn barred(&self, queue: &str) -> Vec<Identity> {
        let barred = self.heard.values().filter(|heard| {
            let may_pull = heard.may_pull.as_ref();
            may_pull.is_some_and(|patterns| !allows(patterns, queue))
        });
        barred.map(|heard| heard.peer.id).collect()
    }

    /// Those that serve `queue`.
    pub(crate) fn holders(&self, queue: Identity) -> Vec<Identity> {
        let taking = self.heard.values().filter(|heard| heard.takes);
        let serving = taking.filter(|heard| heard.serves.contains(&queue));
        serving.map(|heard| heard.peer.id).collect()
    }
}

/// What others say of a model.
#[derive(Debug, Default)]
pub(crate) struct Fame {
    /// How much all of them use it.
    pub(crate) heat: f64,
    /// How long loading it took the slowest.
    pub(crate) load_time: Duration,
    /// How many hold it.
    pub(crate) holders: usize,
}

/// A worker as its report says.
pub(crate) fn peer(report: &Report) -> Peer {
    Peer {
        id: Identity::of(&report.worker),
        shape: report.shape.into(),
        memory: Mib(report.memory_mib),
        free: Mib(report.free_mib),
        busy: report.in_flight >= report.permits,
    }
}

fn heard(report: &Report, now: Moment) -> Heard {
    let takes = matches!(report.state, WorkerState::Ready | WorkerState::Loading);
    let serves = report.subscribed.iter().map(|queue| Identity::of(queue));
    Heard {
        peer: peer(report),
        takes,
        serves: serves.collect(),
        holds: report.resident.clone(),
        may_pull: report.may_pull.clone(),
        until: now + Duration::from_millis(report.valid_ms),
        incarnation: report.incarnation.clone(),
        sequence: report.sequence,
    }
}
