//! What the other workers report.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_policy::fleet::{Identity, Mib, Peer};
use thermocline_wire::fleet::{Report, WorkerState};

/// Other workers, as last heard. One that is silent for longer than it said is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Peers(BTreeMap<String, Heard>);

#[derive(Debug)]
struct Heard {
    peer: Peer,
    takes: bool,
    serves: BTreeSet<Identity>,
    until: Moment,
    incarnation: String,
    sequence: u64,
}

impl Peers {
    /// Takes a report in, unless a newer one of the same life was heard.
    pub(crate) fn hear(&mut self, report: &Report, now: Moment) {
        let stale = self.0.get(&report.worker).is_some_and(|heard| {
            heard.incarnation == report.incarnation && heard.sequence > report.sequence
        });
        if !stale {
            self.0.insert(report.worker.clone(), heard(report, now));
        }
    }

    /// Forgets workers that are silent.
    pub(crate) fn forget(&mut self, now: Moment) {
        self.0.retain(|_, heard| heard.until > now);
    }

    /// Those that take jobs.
    pub(crate) fn all(&self) -> Vec<Peer> {
        let taking = self.0.values().filter(|heard| heard.takes);
        taking.map(|heard| heard.peer).collect()
    }

    /// Those that serve `queue`.
    pub(crate) fn holders(&self, queue: Identity) -> Vec<Identity> {
        let taking = self.0.values().filter(|heard| heard.takes);
        let serving = taking.filter(|heard| heard.serves.contains(&queue));
        serving.map(|heard| heard.peer.id).collect()
    }
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
        until: now + Duration::from_millis(report.valid_ms),
        incarnation: report.incarnation.clone(),
        sequence: report.sequence,
    }
}
