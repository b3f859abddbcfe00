use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::oneshot;

/// How many requests of a deployment run at a time; the rest wait in turn.
///
/// Entering and leaving hold a lock for nanoseconds. A place is handed from who
/// leaves to who waits longest, so a newcomer never overtakes.
#[derive(Debug)]
pub struct Gate(Arc<Mutex<Places>>);

#[derive(Debug)]
struct Places {
    limit: u32,
    taken: u32,
    queue: VecDeque<oneshot::Sender<Permit>>,
}

/// A place within the limit; given back when dropped.
#[derive(Debug)]
pub struct Permit(Option<Arc<Mutex<Places>>>);

/// A place in the queue; left when dropped.
#[derive(Debug)]
pub struct Queued(oneshot::Receiver<Permit>);

/// What a gate answers.
#[derive(Debug)]
pub enum Entry {
    /// Within the limit.
    Entered(Permit),
    /// In the queue.
    Queued(Queued),
    /// Refused.
    Full,
}

impl Gate {
    /// A gate for `limit` requests at a time; `None` = any number.
    pub fn new(limit: Option<u32>) -> Self {
        Gate(Arc::new(Mutex::new(Places {
            limit: limit.unwrap_or(u32::MAX),
            taken: 0,
            queue: VecDeque::new(),
        })))
    }

    /// Enters, queues when at most `queue` are waiting after that, or is refused.
    pub fn enter(&self, queue: u32) -> Entry {
        let mut places = lock(&self.0);
        if places.taken < places.limit {
            places.taken += 1;
            return Entry::Entered(Permit(Some(self.0.clone())));
        }
        if places.waiting() >= queue as usize {
            return Entry::Full;
        }
        let (sender, receiver) = oneshot::channel();
        places.queue.push_back(sender);
        Entry::Queued(Queued(receiver))
    }

    /// Sets the limit; who is inside stays, who waits may enter now.
    pub fn set_limit(&self, limit: Option<u32>) {
        lock(&self.0).limit = limit.unwrap_or(u32::MAX);
        hand_on(&self.0);
    }

    /// Places taken.
    pub fn taken(&self) -> u32 {
        lock(&self.0).taken
    }
}

impl Queued {
    /// Waits for a place.
    pub async fn wait(self) -> Permit {
        match self.0.await {
            Ok(permit) => permit,
            // The gate itself is gone, and with it what it limited.
            Err(_) => Permit(None),
        }
    }
}

impl Places {
    /// Those still waiting; who has left is forgotten.
    fn waiting(&mut self) -> usize {
        if self.queue.iter().any(oneshot::Sender::is_closed) {
            self.queue.retain(|waiter| !waiter.is_closed());
        }
        self.queue.len()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(places) = self.0.take() {
            lock(&places).taken -= 1;
            hand_on(&places);
        }
    }
}

/// Gives free places to those who wait.
fn hand_on(shared: &Arc<Mutex<Places>>) {
    loop {
        let mut places = lock(shared);
        if places.taken >= places.limit {
            return;
        }
        let Some(next) = places.queue.pop_front() else {
            return;
        };
        places.taken += 1;
        drop(places);
        if let Err(mut unused) = next.send(Permit(Some(shared.clone()))) {
            // It left: take the place back without handing on from within.
            unused.0 = None;
            lock(shared).taken -= 1;
        }
    }
}

fn lock(places: &Mutex<Places>) -> MutexGuard<'_, Places> {
    places.lock().unwrap_or_else(|e| e.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(entry: Entry) -> Permit {
        match entry {
            Entry::Entered(permit) => permit,
            other => panic!("{other:?}"),
        }
    }

    fn queued(entry: Entry) -> Queued {
        match entry {
            Entry::Queued(queued) => queued,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn b29_one_runs_two_wait_and_the_rest_is_refused() {
        let gate = Gate::new(Some(1));
        let first = entered(gate.enter(2));
        let (second, third) = (queued(gate.enter(2)), queued(gate.enter(2)));
        for _ in 0..7 {
            assert!(matches!(gate.enter(2), Entry::Full));
        }
        drop(first);
        let second = second.wait().await;
        assert_eq!(gate.taken(), 1);
        drop(second);
        drop(third.wait().await);
        assert_eq!(gate.taken(), 0);
    }

    #[tokio::test]
    async fn who_leaves_the_queue_makes_room() {
        let gate = Gate::new(Some(1));
        let inside = entered(gate.enter(1));
        drop(queued(gate.enter(1)));
        let waiting = queued(gate.enter(1));
        drop(inside);
        drop(waiting.wait().await);
        assert_eq!(gate.taken(), 0);
    }

    #[test]
    fn b16_a_place_handed_to_who_just_left_is_not_lost() {
        let gate = Gate::new(Some(1));
        for _ in 0..1000 {
            let inside = entered(gate.enter(8));
            let leavers: Vec<Queued> = (0..8).map(|_| queued(gate.enter(8))).collect();
            drop(inside); // the first leaver now holds a place it will never use
            drop(leavers);
            assert_eq!(gate.taken(), 0);
        }
    }

    #[tokio::test]
    async fn a_raised_limit_lets_the_waiting_in() {
        let gate = Gate::new(Some(1));
        let _inside = entered(gate.enter(1));
        let waiting = queued(gate.enter(1));
        gate.set_limit(None);
        let _second = waiting.wait().await;
        assert_eq!(gate.taken(), 2);
    }
}
