use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use thermocline_clock::Clock;
use thermocline_policy::Moment;
use ulid::Ulid;

/// How long a cloud may take to show what was made.
const VISIBLE_WITHIN: Duration = Duration::from_secs(30);
/// Complete searches without it that prove that nothing was made.
const LEAST_LOOKS: u32 = 3;

/// What may exist although nobody has said so: keys whose create may have been
/// obeyed, and ids that are too young to be missed.
pub struct Doubts {
    clock: Clock,
    began: Moment,
    /// When this process began, by the wall clock.
    began_wall: SystemTime,
    keys: Mutex<HashMap<String, Doubt>>,
    young: Mutex<HashMap<String, Young>>,
}

#[derive(Debug, Clone, Copy)]
struct Young {
    made: Moment,
    /// Whether a look by its id has shown it.
    shown: bool,
}

#[derive(Debug, Clone, Copy)]
struct Doubt {
    since: Moment,
    looks: u32,
}

impl Doubts {
    /// No doubts yet, in a process that begins now.
    pub fn new(clock: Clock) -> Self {
        Doubts {
            began: clock.now(),
            began_wall: clock.wall(),
            clock,
            keys: Mutex::default(),
            young: Mutex::default(),
        }
    }

    /// Notes that a create of `key` may be obeyed: before it is sent, so that the
    /// doubt stays where nobody waits for the answer any more, and until its
    /// instance is seen where it was answered.
    pub fn raise(&self, key: &str) {
        let since = self.clock.now();
        lock(&self.keys).insert(key.to_owned(), Doubt { since, looks: 0 });
    }

    /// Whether `key`, which a complete search has just not found, may be
    /// created. A key that another process made may have been tried before.
    pub fn may_create(&self, key: &str) -> bool {
        let now = self.clock.now();
        let mut keys = lock(&self.keys);
        if !keys.contains_key(key) && self.is_inherited(key) && !over(self.began, now) {
            let inherited = Doubt {
                since: self.began,
                looks: 0,
            };
            keys.insert(key.to_owned(), inherited);
        }
        let Some(doubt) = keys.get_mut(key) else {
            return true;
        };
        doubt.looks += 1;
        let settled = doubt.looks >= LEAST_LOOKS && over(doubt.since, now);
        if settled {
            keys.remove(key);
        }
        settled
    }

    /// Notes that a search has shown the instance `id` of `key`. A young one may
    /// be missing from the next: what this process made is there, also while
    /// lists lack it.
    pub fn seen(&self, key: &str, id: &str) {
        if !self.is_young(id) {
            self.settle(key);
        }
    }

    /// Notes that `key` is settled: nothing was made for it.
    pub fn settle(&self, key: &str) {
        lock(&self.keys).remove(key);
    }

    /// Notes that the instance `id` was made now.
    pub fn made(&self, id: &str) {
        let now = self.clock.now();
        let mut young = lock(&self.young);
        young.retain(|_, young| !over(young.made, now));
        let made = Young {
            made: now,
            shown: false,
        };
        young.insert(id.to_owned(), made);
    }

    /// Notes that a look by its id has shown the instance `id`: no such look hides
    /// it any more, though a list and a deletion still may.
    pub fn shown(&self, id: &str) {
        if let Some(young) = lock(&self.young).get_mut(id) {
            young.shown = true;
        }
    }

    /// Notes that the instance `id` of `key` is being deleted: its absence means
    /// something, and nobody asks for the key any more.
    pub fn forget(&self, key: &str, id: &str) {
        lock(&self.young).remove(id);
        self.settle(key);
    }

    /// Whether it means nothing yet that a call does not know `id`.
    pub fn is_young(&self, id: &str) -> bool {
        self.young_one(id).is_some()
    }

    /// The same of a look by its id, which hides nothing that it has shown.
    pub fn may_be_hidden(&self, id: &str) -> bool {
        self.young_one(id).is_some_and(|young| !young.shown)
    }

    fn young_one(&self, id: &str) -> Option<Young> {
        let now = self.clock.now();
        let young = lock(&self.young).get(id).copied();
        young.filter(|young| !over(young.made, now))
    }

    /// Every id whose absence from a list means nothing yet.
    pub fn young(&self) -> Vec<String> {
        let now = self.clock.now();
        let young = lock(&self.young);
        let still = young.iter().filter(|(_, young)| !over(young.made, now));
        still.map(|(id, _)| id.clone()).collect()
    }

    /// Whether another process made the key: before this one began, or later
    /// than now, where the clock was set back in between.
    fn is_inherited(&self, key: &str) -> bool {
        let own = millis(self.began_wall)..=millis(self.clock.wall());
        Ulid::from_string(key).is_ok_and(|key| !own.contains(&u128::from(key.timestamp_ms())))
    }
}

fn millis(wall: SystemTime) -> u128 {
    let since = wall.duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis()
}

fn over(since: Moment, now: Moment) -> bool {
    now.since(since) >= VISIBLE_WITHIN
}

fn lock<T>(inside: &Mutex<T>) -> MutexGuard<'_, T> {
    inside
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use thermocline_clock::ManualClock;

    #[test]
    fn a_doubt_ends_after_three_looks_and_half_a_minute() {
        let time = ManualClock::starting_at(UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let doubts = Doubts::new(time.clock());
        assert!(doubts.may_create("fresh"));
        doubts.raise("key");
        for _ in 0..5 {
            assert!(!doubts.may_create("key"));
        }
        time.advance(VISIBLE_WITHIN);
        assert!(doubts.may_create("key"));
    }

    #[test]
    fn what_was_made_here_is_there_until_it_is_seen_or_proven_absent() {
        let time = ManualClock::starting_at(UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let doubts = Doubts::new(time.clock());
        doubts.raise("key");
        doubts.made("id");
        doubts.seen("key", "id");
        assert!(!doubts.may_create("key"), "the next list may lack it");
        time.advance(VISIBLE_WITHIN);
        doubts.seen("key", "id");
        assert!(
            doubts.may_create("key"),
            "a list that lacks it is believed now"
        );
    }

    #[test]
    fn what_a_look_has_shown_no_look_hides() {
        let time = ManualClock::starting_at(UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let doubts = Doubts::new(time.clock());
        doubts.made("id");
        assert!(doubts.may_be_hidden("id"));
        doubts.shown("id");
        assert!(!doubts.may_be_hidden("id") && doubts.is_young("id"));
        assert_eq!(doubts.young(), ["id"]);
        time.advance(VISIBLE_WITHIN);
        assert!(doubts.young().is_empty());
    }

    #[test]
    fn a_key_of_an_earlier_process_is_doubtful_also_where_the_clock_was_set_since() {
        let time = ManualClock::starting_at(UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let key = Ulid::from_parts(1_800_000_000_000, 7).to_string();
        for wall in [1_799_999_400, 1_800_000_600] {
            time.set_wall(UNIX_EPOCH + Duration::from_secs(wall));
            assert!(!Doubts::new(time.clock()).may_create(&key));
        }
    }

    #[test]
    fn what_is_deleted_young_leaves_nothing_behind() {
        let time = ManualClock::starting_at(UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let doubts = Doubts::new(time.clock());
        for number in 0..1_000 {
            let (key, id) = (format!("key {number}"), format!("id {number}"));
            doubts.raise(&key);
            doubts.made(&id);
            doubts.forget(&key, &id);
        }
        assert!(lock(&doubts.keys).is_empty() && lock(&doubts.young).is_empty());
    }

    #[test]
    fn a_key_of_an_earlier_process_is_doubtful_at_first() {
        let time = ManualClock::starting_at(UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let key = |ms: u64| Ulid::from_parts(ms, 7).to_string();
        let (old, new) = (key(1_799_999_999_000), key(1_800_000_001_000));
        let doubts = Doubts::new(time.clock());
        assert!(!doubts.may_create(&old));
        time.advance(Duration::from_secs(2));
        assert!(doubts.may_create(&new));
        time.advance(VISIBLE_WITHIN);
        assert!(!doubts.may_create(&old));
        assert!(doubts.may_create(&old));
    }
}
