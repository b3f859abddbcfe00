use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use thermocline_policy::{Brake, LocalFit, Moment, PodState, Selection, Tier, TierMap};

use crate::{Backend, BackendId, BackendPermit, Deployment};

/// Where a deployment stands in each tier. Replaced as a whole.
#[derive(Debug)]
pub struct Capacity {
    /// The backends that take work.
    pub pools: TierMap<Pool>,
    /// Whether this machine can serve it.
    pub local: LocalFit,
    /// How far its pods are.
    pub pod: PodState,
    /// How many arrivals had been counted when the last pod stopped for want of
    /// work; `None` = it did not.
    pub idled: Option<u64>,
    /// What budgets forbid.
    pub brakes: TierMap<Brake>,
}

impl Default for Capacity {
    fn default() -> Self {
        Capacity {
            pools: TierMap::default(),
            local: LocalFit::NoDaemon,
            pod: PodState::Absent,
            idled: None,
            brakes: TierMap::default(),
        }
    }
}

/// The backends of one tier that take work.
#[derive(Debug, Default)]
pub struct Pool {
    backends: Vec<Arc<Backend>>,
    turn: AtomicUsize,
}

/// What a pool answers to a request for a place.
#[derive(Debug)]
pub enum Pick {
    /// Here it is.
    Place(BackendPermit),
    /// Every backend is at its limit.
    Full,
    /// There is no backend.
    Empty,
}

impl Pool {
    /// A pool of `backends`.
    pub fn of(backends: Vec<Arc<Backend>>) -> Self {
        Pool {
            backends,
            turn: AtomicUsize::new(0),
        }
    }

    /// The backends.
    pub fn backends(&self) -> &[Arc<Backend>] {
        &self.backends
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.backends.is_empty()
    }

    /// A place on a backend that is not in `tried`; suspects come last.
    pub fn pick(
        &self,
        deployment: &Arc<Deployment>,
        selection: Selection,
        tried: &[BackendId],
        now: impl FnOnce() -> Moment,
    ) -> Pick {
        if let [only] = &self.backends[..]
            && tried.is_empty()
        {
            return BackendPermit::take(deployment, only).map_or(Pick::Full, Pick::Place);
        }
        let mut candidates = self.in_turn(tried);
        if candidates.is_empty() {
            return Pick::Empty;
        }
        let now = now();
        match selection {
            Selection::RoundRobin => candidates.sort_by_key(|b| b.is_suspect(now)),
            Selection::LeastLoaded => {
                candidates.sort_by_key(|b| (b.is_suspect(now), b.in_flight()));
            }
        }
        candidates
            .into_iter()
            .find_map(|backend| BackendPermit::take(deployment, backend))
            .map_or(Pick::Full, Pick::Place)
    }

    /// Those not `tried`, beginning with the next in turn.
    fn in_turn(&self, tried: &[BackendId]) -> Vec<&Arc<Backend>> {
        let count = self.backends.len();
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        (0..count)
            .map(|i| &self.backends[first.wrapping_add(i) % count])
            .filter(|backend| !tried.contains(&backend.id))
            .collect()
    }
}

impl Capacity {
    /// Whether `tier` has a backend that takes work.
    pub fn serves(&self, tier: Tier) -> bool {
        !self.pools[tier].is_empty()
    }
}
