//! The members of one model on this node: who is next, who is away.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thermocline_provider::Address;
use thermocline_wire::fleet::Terms;
use tokio::sync::Notify;

/// One instance of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// The provider's id.
    pub(super) id: String,
    /// Where it is reached.
    pub(super) address: Address,
}

/// A member's place in its pool. It keeps its place while it is started anew.
#[derive(Debug)]
struct Seat {
    /// `None` while it is away.
    member: Option<Member>,
    busy: u32,
}

/// The members of one model.
#[derive(Debug)]
pub(super) struct Pool {
    seats: Mutex<Turn>,
    changed: Notify,
    terms: Terms,
}

#[derive(Debug)]
struct Turn {
    seats: Vec<Seat>,
    next: usize,
    closed: bool,
}

/// A request's place at a member; given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    pool: Arc<Pool>,
    seat: usize,
    pub(super) member: Member,
}

/// How many instances the terms ask for.
pub(super) fn instances(terms: &Terms) -> usize {
    if terms.per_worker {
        terms.members.max(1) as usize
    } else {
        1
    }
}

/// How many requests one instance takes at a time.
fn room(terms: &Terms) -> u32 {
    match (terms.exclusive, terms.per_worker) {
        (true, true) => 1,
        (true, false) => terms.members.max(1),
        (false, _) => u32::MAX,
    }
}

impl Pool {
    /// A pool of `members`, all of them ready.
    pub(super) fn new(members: Vec<Member>, terms: Terms) -> Arc<Self> {
        let seats = members.into_iter().map(|member| Seat {
            member: Some(member),
            busy: 0,
        });
        Arc::new(Pool {
            seats: Mutex::new(Turn {
                seats: seats.collect(),
                next: 0,
                closed: false,
            }),
            changed: Notify::new(),
            terms,
        })
    }

    /// A place at the member that is next; waits while all are full or away.
    /// `None` once the pool is closed.
    pub(super) async fn place(self: &Arc<Self>) -> Option<Place> {
        loop {
            let changed = self.changed.notified();
            {
                let mut turn = self.lock();
                if turn.closed {
                    return None;
                }
                if let Some((seat, member)) = turn.take(&self.terms) {
                    return Some(Place {
                        pool: self.clone(),
                        seat,
                        member,
                    });
                }
            }
            changed.await;
        }
    }

    /// Takes the member `id` out of turn; its seat, unless it was out already.
    pub(super) fn remove(&self, id: &str) -> Option<usize> {
        let mut turn = self.lock();
        let seat = turn.seats.iter().position(|seat| seat.is(id))?;
        turn.seats[seat].member = None;
        Some(seat)
    }

    /// Puts a member into `seat`.
    pub(super) fn seat(&self, seat: usize, member: Member) {
        if let Some(seat) = self.lock().seats.get_mut(seat) {
            seat.member = Some(member);
        }
        self.changed.notify_waiters();
    }

    /// Ends it: who waits for a place gets none.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_waiters();
    }

    /// Waits until nobody is at `seat` any more, which is out of turn.
    pub(super) async fn vacant(&self, seat: usize) {
        loop {
            let changed = self.changed.notified();
            if self
                .lock()
                .seats
                .get(seat)
                .is_none_or(|seat| seat.busy == 0)
            {
                return;
            }
            changed.await;
        }
    }

    /// Whether it takes requests, now or once a member is back.
    pub(super) fn is_open(&self) -> bool {
        !self.lock().closed
    }

    /// Whether a member is in turn.
    pub(super) fn has_members(&self) -> bool {
        self.lock().seats.iter().any(|seat| seat.member.is_some())
    }

    /// Whether there are other members than one.
    pub(super) fn is_shared(&self) -> bool {
        self.lock().seats.len() > 1
    }

    /// The terms that it was made on.
    pub(super) fn terms(&self) -> &Terms {
        &self.terms
    }

    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    fn take(&mut self, terms: &Terms) -> Option<(usize, Member)> {
        let chosen = self.choose(room(terms), terms.least_loaded)?;
        let seat = &mut self.seats[chosen];
        let member = seat.member.clone()?;
        seat.busy += 1;
        self.next = (chosen + 1) % self.seats.len();
        Some((chosen, member))
    }

    /// The next in turn with room; or the one with the least work, the next in turn of equals.
    fn choose(&self, room: u32, least_loaded: bool) -> Option<usize> {
        let count = self.seats.len();
        let in_turn = (0..count).map(|step| (self.next + step) % count);
        let mut open = in_turn.filter(|&seat| self.seats[seat].has_room(room));
        match least_loaded {
            true => open.min_by_key(|&seat| self.seats[seat].busy),
            false => open.next(),
        }
    }
}

impl Seat {
    fn has_room(&self, room: u32) -> bool {
        self.member.is_some() && self.busy < room
    }

    fn is(&self, id: &str) -> bool {
        self.member.as_ref().is_some_and(|member| member.id == id)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut turn = self.pool.lock();
        if let Some(seat) = turn.seats.get_mut(self.seat) {
            seat.busy = seat.busy.saturating_sub(1);
        }
        drop(turn);
        self.pool.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn member(id: &str) -> Member {
        Member {
            id: id.to_owned(),
            address: Address::default(),
        }
    }

    fn pool(names: &[&str], change: impl FnOnce(&mut Terms)) -> Arc<Pool> {
        let mut terms = Terms {
            members: names.len() as u32,
            per_worker: true,
            ..Terms::default()
        };
        change(&mut terms);
        Pool::new(names.iter().map(|name| member(name)).collect(), terms)
    }

    fn now(pool: &Arc<Pool>) -> Option<Place> {
        pool.place().now_or_never().flatten()
    }

    #[test]
    fn members_take_turns() {
        let pool = pool(&["a", "b"], |_| {});
        let order: Vec<String> = (0..4)
            .map(|_| now(&pool).unwrap().member.id.clone())
            .collect();
        assert_eq!(order, ["a", "b", "a", "b"]);
    }

    #[test]
    fn the_one_with_the_least_work_is_next() {
        let pool = pool(&["a", "b"], |terms| terms.least_loaded = true);
        let _slow = now(&pool).unwrap();
        for _ in 0..3 {
            assert_eq!(now(&pool).unwrap().member.id, "b");
        }
    }

    #[test]
    fn an_exclusive_member_takes_one_at_a_time() {
        let pool = pool(&["a", "b"], |terms| terms.exclusive = true);
        let (first, _second) = (now(&pool).unwrap(), now(&pool).unwrap());
        assert!(now(&pool).is_none());
        drop(first);
        assert_eq!(now(&pool).unwrap().member.id, "a");
    }

    #[test]
    fn one_instance_serves_all_members_where_it_is_loaded_once() {
        let once = pool(&["a"], |terms| {
            (terms.exclusive, terms.per_worker, terms.members) = (true, false, 3);
        });
        let held: Vec<Place> = (0..3).map(|_| now(&once).unwrap()).collect();
        assert!(now(&once).is_none());
        drop(held);
    }

    #[tokio::test]
    async fn a_member_that_restarts_is_skipped_and_waited_for_when_it_is_the_only_one() {
        let both = pool(&["a", "b"], |_| {});
        assert_eq!(both.remove("a"), Some(0));
        assert_eq!(now(&both).unwrap().member.id, "b");
        let only = pool(&["a"], |_| {});
        only.remove("a");
        let waiting = tokio::spawn({
            let only = only.clone();
            async move { only.place().await.map(|place| place.member.id.clone()) }
        });
        tokio::task::yield_now().await;
        only.seat(0, member("c"));
        assert_eq!(waiting.await.unwrap().as_deref(), Some("c"));
    }

    #[tokio::test]
    async fn a_closed_pool_sends_away_who_waits() {
        let pool = pool(&["a"], |terms| terms.exclusive = true);
        let _held = now(&pool).unwrap();
        let waiting = tokio::spawn({
            let pool = pool.clone();
            async move { pool.place().await.is_none() }
        });
        tokio::task::yield_now().await;
        pool.close();
        assert!(waiting.await.unwrap());
    }
}
