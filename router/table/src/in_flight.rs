use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use slab::Slab;

use crate::ongoing::{Arrived, Ongoing};

/// Lists that requests are spread over.
const SHARDS: usize = 64;

/// Every request that a deployment has taken and that has not ended.
///
/// Each thread enters its requests into a list of its own, whose lock is free
/// unless somebody looks: what is looked for is found by going through all.
#[derive(Debug)]
pub struct InFlight {
    shards: Box<[Arc<Shard>]>,
    /// Tells the ids of this process from those of an earlier one.
    process: u32,
}

/// On cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    entered: u64,
    requests: Slab<Arc<Ongoing>>,
}

/// Keeps a request listed until it is dropped.
#[derive(Debug)]
pub struct Listed {
    ongoing: Arc<Ongoing>,
    shard: Arc<Shard>,
    key: usize,
}

impl Default for InFlight {
    fn default() -> Self {
        InFlight {
            shards: (0..SHARDS).map(|_| Arc::default()).collect(),
            process: RandomState::new().hash_one(()) as u32,
        }
    }
}

impl InFlight {
    /// Lists a request until what is returned is dropped.
    pub fn enter(&self, arrived: Arrived<'_>) -> Listed {
        let number = own_shard();
        let shard = self.shards[number].clone();
        let mut list = shard.list();
        let turn = list.entered * SHARDS as u64 + number as u64;
        list.entered += 1;
        let ongoing = Arc::new(Ongoing::new(arrived, turn));
        let key = list.requests.insert(ongoing.clone());
        drop(list);
        Listed {
            ongoing,
            shard,
            key,
        }
    }

    /// All, those that came first before the others.
    pub fn all(&self) -> Vec<Arc<Ongoing>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(shard.list().requests.iter().map(|(_, it)| it.clone()));
        }
        all.sort_by_key(|ongoing| ongoing.arrived);
        all
    }

    /// The id of a request, which no other has, of an earlier process either.
    pub fn id(&self, ongoing: &Ongoing) -> String {
        format!("{:08x}-{}", self.process, ongoing.turn)
    }

    /// The request of that id, while it is in flight.
    pub fn find(&self, id: &str) -> Option<Arc<Ongoing>> {
        let turn: u64 = id.rsplit_once('-')?.1.parse().ok()?;
        let list = self.shards[(turn % SHARDS as u64) as usize].list();
        let found = list.requests.iter().find(|(_, it)| it.turn == turn);
        let found = found.map(|(_, it)| it.clone());
        found.filter(|ongoing| self.id(ongoing) == id)
    }
}

impl Listed {
    /// The request.
    pub fn ongoing(&self) -> &Arc<Ongoing> {
        &self.ongoing
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.shard.list().requests.remove(self.key);
    }
}

impl Shard {
    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// The list of this thread; threads beyond [`SHARDS`] share one with another.
fn own_shard() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<Option<usize>> = const { Cell::new(None) };
    }
    OWN.get().unwrap_or_else(|| {
        let own = THREADS.fetch_add(1, Ordering::Relaxed) % SHARDS;
        OWN.set(Some(own));
        own
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ongoing::tests::arrived;

    #[test]
    fn a_request_is_listed_until_it_ends_whatever_thread_it_ends_on() {
        let in_flight = InFlight::default();
        let (first, second) = (in_flight.enter(arrived(1)), in_flight.enter(arrived(2)));
        let seen = in_flight.all();
        assert!(Arc::ptr_eq(&seen[0], first.ongoing()));
        assert_eq!(seen.len(), 2);
        std::thread::scope(|scope| {
            scope.spawn(|| drop(first));
        });
        let left = in_flight.all();
        assert!(left.len() == 1 && Arc::ptr_eq(&left[0], second.ongoing()));
    }

    #[test]
    fn an_id_is_of_one_request_and_of_none_once_that_has_ended() {
        let in_flight = InFlight::default();
        let first = in_flight.enter(arrived(1));
        let id = in_flight.id(first.ongoing());
        let found = in_flight.find(&id).expect("it is in flight");
        assert!(Arc::ptr_eq(&found, first.ongoing()));
        drop(first);
        let _in_its_place = in_flight.enter(arrived(2));
        assert!(in_flight.find(&id).is_none());
    }

    #[test]
    fn an_id_of_an_earlier_process_is_of_none() {
        let (earlier, now) = (InFlight::default(), InFlight::default());
        let (old, _new) = (earlier.enter(arrived(1)), now.enter(arrived(1)));
        assert!(now.find(&earlier.id(old.ongoing())).is_none());
        for wrong in ["", "-", "0", "x-1", "00000000-1-1", "-18446744073709551616"] {
            assert!(now.find(wrong).is_none(), "{wrong}");
        }
    }
}
