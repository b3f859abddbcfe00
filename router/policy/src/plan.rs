//! From wanted and existing instances of one tier to what is to be done.

use crate::InstanceState;

/// One existing instance, as far as a plan depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Its id.
    pub id: String,
    /// Its place among the tier's instances.
    pub slot: u32,
    /// Where it stands.
    pub state: InstanceState,
    /// Whether it was started from what the specification says now.
    pub current: bool,
    /// Requests in hand.
    pub in_flight: u32,
}

/// What one tier should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Instances.
    pub count: u32,
    /// The most that may be live, but for one more while it replaces another.
    pub max: u32,
}

/// One thing to do, with nothing left to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Start an instance in this slot.
    Start {
        /// The place among the tier's instances.
        slot: u32,
    },
    /// Give it no more work.
    Drain {
        /// The instance's id.
        id: String,
    },
    /// Give it work again.
    Revive {
        /// The instance's id.
        id: String,
    },
    /// Delete it.
    Stop {
        /// The instance's id.
        id: String,
    },
}

/// What turns `observed` into `wanted` in one tier.
///
/// An instance of an older specification serves until its successor is ready.
/// At most one instance above `max` exists at any time, and only while another
/// is on its way out. Work in hand is never cut: an instance drains first.
pub fn plan(wanted: Wanted, observed: &[Observed]) -> Vec<Action> {
    let mut actions = Vec::new();
    actions.extend(ends_of_drains(observed, wanted));
    actions.extend(replaced(observed, wanted));
    let current: Vec<&Observed> = observed.iter().filter(|o| o.current).collect();
    let up = current.iter().filter(|o| is_up(&o.state)).count() as u32;
    if up > wanted.count {
        actions.extend(surplus(&current, up - wanted.count));
    } else {
        actions.extend(deficit(observed, &current, wanted, wanted.count - up));
    }
    actions
}

fn is_up(state: &InstanceState) -> bool {
    state.is_starting() || state.is_ready()
}

/// Drained instances without work, unless one of them is about to be revived.
fn ends_of_drains(observed: &[Observed], wanted: Wanted) -> Vec<Action> {
    let up = observed
        .iter()
        .filter(|o| o.current && is_up(&o.state))
        .count() as u32;
    let mut spare = wanted.count.saturating_sub(up);
    let mut actions = Vec::new();
    for instance in observed {
        if !matches!(instance.state, InstanceState::Draining { .. }) {
            continue;
        }
        if instance.current && spare > 0 {
            spare -= 1;
        } else if instance.in_flight == 0 {
            actions.push(stop(instance));
        }
    }
    actions
}

/// What becomes of instances of an older specification.
///
/// One of them goes for each instance that is ready beyond what is wanted, the
/// least busy first: were the last successor waited for, none could start once
/// there is one instance above `max`.
fn replaced(observed: &[Observed], wanted: Wanted) -> Vec<Action> {
    let ready = observed.iter().filter(|o| o.state.is_ready()).count() as u32;
    let old = || observed.iter().filter(|o| !o.current);
    let mut serving: Vec<&Observed> = old().filter(|o| o.state.is_ready()).collect();
    serving.sort_by_key(|o| o.in_flight);
    let relieved = serving
        .into_iter()
        .take(ready.saturating_sub(wanted.count) as usize)
        .map(|o| Action::Drain { id: o.id.clone() });
    old()
        .filter(|o| o.state.is_starting())
        .map(stop)
        .chain(relieved)
        .collect()
}

/// Which `excess` instances go: those that do not serve yet, then the least busy.
fn surplus(current: &[&Observed], excess: u32) -> Vec<Action> {
    let mut up: Vec<&&Observed> = current.iter().filter(|o| is_up(&o.state)).collect();
    up.sort_by_key(|o| (o.state.is_ready(), o.in_flight, std::cmp::Reverse(o.slot)));
    up.into_iter()
        .take(excess as usize)
        .map(|o| match o.state.is_ready() {
            true => Action::Drain { id: o.id.clone() },
            false => stop(o),
        })
        .collect()
}

/// What fills `missing` places: instances that still drain, then new ones.
fn deficit(
    observed: &[Observed],
    current: &[&Observed],
    wanted: Wanted,
    missing: u32,
) -> Vec<Action> {
    let mut actions: Vec<Action> = current
        .iter()
        .filter(|o| matches!(o.state, InstanceState::Draining { .. }))
        .take(missing as usize)
        .map(|o| Action::Revive { id: o.id.clone() })
        .collect();
    let live: Vec<&Observed> = observed
        .iter()
        .filter(|o| o.state != InstanceState::Gone)
        .collect();
    let leaving = live.iter().any(|o| !o.current || !is_up(&o.state));
    let room = wanted.max + u32::from(leaving);
    let to_start = (missing - actions.len() as u32).min(room.saturating_sub(live.len() as u32));
    let taken = |slot: &u32| live.iter().any(|o| o.slot == *slot);
    actions.extend(
        (0..)
            .filter(|slot| !taken(slot))
            .take(to_start as usize)
            .map(|slot| Action::Start { slot }),
    );
    actions
}

fn stop(instance: &Observed) -> Action {
    Action::Stop {
        id: instance.id.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn provider_id() -> String {
        "p".into()
    }

    fn intended() -> InstanceState {
        InstanceState::Intended
    }
    fn starting() -> InstanceState {
        InstanceState::Starting {
            provider_id: provider_id(),
        }
    }
    fn ready() -> InstanceState {
        InstanceState::Ready {
            provider_id: provider_id(),
        }
    }
    fn draining() -> InstanceState {
        InstanceState::Draining {
            provider_id: provider_id(),
        }
    }
    fn stopping() -> InstanceState {
        InstanceState::Stopping { provider_id: None }
    }

    fn instance(slot: u32, state: InstanceState, current: bool) -> Observed {
        Observed {
            id: format!("i{slot}"),
            slot,
            state,
            current,
            in_flight: 0,
        }
    }

    fn one(count: u32) -> Wanted {
        Wanted { count, max: 1 }
    }

    fn id(slot: u32) -> String {
        format!("i{slot}")
    }

    #[test]
    fn nothing_to_something_and_back() {
        assert_eq!(plan(one(1), &[]), [Action::Start { slot: 0 }]);
        assert!(plan(one(1), &[instance(0, intended(), true)]).is_empty());
        assert!(plan(one(1), &[instance(0, ready(), true)]).is_empty());
        assert_eq!(
            plan(one(0), &[instance(0, ready(), true)]),
            [Action::Drain { id: id(0) }]
        );
        assert_eq!(
            plan(one(0), &[instance(0, draining(), true)]),
            [Action::Stop { id: id(0) }]
        );
        assert_eq!(
            plan(one(0), &[instance(0, starting(), true)]),
            [Action::Stop { id: id(0) }]
        );
    }

    #[test]
    fn b05_work_in_hand_is_never_cut() {
        let mut busy = instance(0, draining(), true);
        busy.in_flight = 1;
        assert!(plan(one(0), &[busy]).is_empty());
    }

    #[test]
    fn traffic_that_comes_back_revives_a_drain() {
        assert_eq!(
            plan(one(1), &[instance(0, draining(), true)]),
            [Action::Revive { id: id(0) }]
        );
    }

    #[test]
    fn b37_the_old_one_serves_until_its_successor_is_ready() {
        let old = instance(0, ready(), false);
        assert_eq!(
            plan(one(1), std::slice::from_ref(&old)),
            [Action::Start { slot: 1 }]
        );
        let both = [old.clone(), instance(1, starting(), true)];
        assert!(plan(one(1), &both).is_empty());
        let done = [old, instance(1, ready(), true)];
        assert_eq!(plan(one(1), &done), [Action::Drain { id: id(0) }]);
    }

    #[test]
    fn b37_a_second_update_during_the_surge_stays_within_one_above_max() {
        let seen = [instance(0, ready(), false), instance(1, starting(), false)];
        assert_eq!(plan(one(1), &seen), [Action::Stop { id: id(1) }]);
        let seen = [instance(0, ready(), false), instance(1, stopping(), false)];
        assert!(
            plan(one(1), &seen).is_empty(),
            "waits for the first surge to be gone"
        );
    }

    #[test]
    fn b37_several_are_replaced_one_after_another_at_full_strength() {
        let seen = [instance(0, ready(), false), instance(1, ready(), false)];
        let two = Wanted { count: 2, max: 2 };
        assert_eq!(plan(two, &seen), [Action::Start { slot: 2 }]);
        let [first, second] = seen;
        let relieved = [first, second, instance(2, ready(), true)];
        assert_eq!(plan(two, &relieved), [Action::Drain { id: id(0) }]);
    }

    #[test]
    fn a_start_does_not_wait_for_one_that_is_slow_to_go() {
        assert_eq!(
            plan(one(1), &[instance(0, stopping(), true)]),
            [Action::Start { slot: 1 }]
        );
    }

    #[test]
    fn the_least_busy_goes_first() {
        let mut busy = instance(0, ready(), true);
        busy.in_flight = 2;
        let wanted = Wanted { count: 1, max: 2 };
        let seen = [busy, instance(1, ready(), true)];
        assert_eq!(plan(wanted, &seen), [Action::Drain { id: id(1) }]);
    }

    /// Applies a plan as the provider eventually would.
    fn apply(mut seen: Vec<Observed>, actions: &[Action]) -> Vec<Observed> {
        for action in actions {
            match action {
                Action::Start { slot } => seen.push(instance(*slot, intended(), true)),
                Action::Drain { id } => set(&mut seen, id, draining()),
                Action::Revive { id } => set(&mut seen, id, ready()),
                Action::Stop { id } => set(&mut seen, id, stopping()),
            }
        }
        seen
    }

    fn set(seen: &mut [Observed], id: &str, state: InstanceState) {
        seen.iter_mut().find(|o| o.id == id).unwrap().state = state;
    }

    /// What the world does between two passes: starts get ready, stops end, work ends.
    fn world(seen: Vec<Observed>) -> Vec<Observed> {
        seen.into_iter()
            .filter(|o| !matches!(o.state, InstanceState::Stopping { .. }))
            .map(|mut o| {
                if o.state.is_starting() {
                    o.state = ready();
                }
                o.in_flight = 0;
                o
            })
            .collect()
    }

    prop_compose! {
        fn fleet()(kinds in prop::collection::vec((0u8..5, any::<bool>(), 0u32..3), 0..4)) -> Vec<Observed> {
            kinds.into_iter().enumerate().map(|(slot, (kind, current, in_flight))| {
                let state = [intended(), starting(), ready(), draining(), stopping()][kind as usize].clone();
                Observed { in_flight, ..instance(slot as u32, state, current) }
            }).collect()
        }
    }

    prop_compose! {
        fn wishes()(max in 1u32..5)(count in 0..=max, max in Just(max)) -> (u32, u32) {
            (count, max)
        }
    }

    proptest! {
        #[test]
        fn every_fleet_settles_on_what_is_wanted(seen in fleet(), (count, max) in wishes()) {
            let wanted = Wanted { count, max };
            let mut seen = seen;
            for _ in 0..16 {
                let actions = plan(wanted, &seen);
                seen = world(apply(seen, &actions));
            }
            prop_assert!(plan(wanted, &seen).is_empty());
            let ready = seen.iter().filter(|o| o.current && o.state.is_ready()).count() as u32;
            prop_assert_eq!((ready, seen.len() as u32), (count, count));
        }

        #[test]
        fn at_most_one_above_the_maximum(count in 0u32..3, seen in fleet()) {
            let max = 3.max(seen.len() as u32);
            let after = apply(seen.clone(), &plan(Wanted { count, max }, &seen));
            prop_assert!(after.len() as u32 <= max + 1);
        }
    }
}
