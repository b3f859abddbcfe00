use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::fleet::{Identity, Mib, Peer, Shape};

mod fits;

const DEVICE: [Mib; 1] = [Mib(80_000)];

fn at(seconds: f64) -> Moment {
    Moment::from_origin(Duration::from_secs_f64(seconds))
}

fn peer(name: &str) -> Peer {
    Peer {
        id: Identity::of(name),
        shape: Shape::Gpu,
        memory: Mib(80_000),
        free: Mib(80_000),
        busy: false,
    }
}

fn worker<'a>(name: &str, peers: &'a [Peer]) -> WorkerView<'a> {
    WorkerView {
        reported: peer(name),
        devices: &DEVICE,
        cold: 4,
        peers,
    }
}

fn terms() -> Terms {
    Terms {
        memory: Mib(8_000),
        ..Terms::default()
    }
}

fn queue<'a>(name: &'a str, terms: &'a Terms) -> QueueView<'a> {
    QueueView {
        queue: name,
        id: Identity::of(name),
        terms: Some(terms),
        waiting: 0,
        oldest: Duration::ZERO,
        holders: &[],
        barred: &[],
        residence: Residence::Absent,
        subscribed: false,
        last_served: None,
    }
}

fn decide<'a>(worker: &WorkerView, queues: &[QueueView<'a>], now: f64) -> Changes<'a> {
    subscriptions(worker, queues, &Scoring::default(), at(now))
}

fn joined<'a>(changes: &Changes<'a>) -> Vec<&'a str> {
    changes.join.iter().map(|join| join.queue).collect()
}

fn left(changes: &Changes) -> Vec<LeaveReason> {
    changes.leave.iter().map(|leave| leave.reason).collect()
}

#[test]
fn a_worker_serves_what_it_holds_and_leaves_it_when_it_is_gone() {
    let terms = terms();
    let warm = QueueView {
        residence: Residence::Resident,
        ..queue("warm", &terms)
    };
    assert_eq!(joined(&decide(&worker("a", &[]), &[warm], 0.0)), ["warm"]);
    let evicted = QueueView {
        subscribed: true,
        residence: Residence::Absent,
        last_served: Some(at(0.0)),
        ..warm
    };
    let changes = decide(&worker("a", &[]), &[evicted], 5.0);
    assert_eq!(left(&changes), [], "served a moment ago: sticky");
    let changes = decide(&worker("a", &[]), &[evicted], 600.0);
    assert_eq!(left(&changes), [LeaveReason::Cooled]);
}

#[test]
fn one_of_two_idle_workers_takes_a_starving_queue() {
    let terms = terms();
    let both = [peer("a"), peer("b")];
    let rare = |oldest| QueueView {
        waiting: 1,
        oldest: Duration::from_secs_f64(oldest),
        ..queue("rare", &terms)
    };
    let takers = |oldest| {
        ["a", "b"].map(|name| {
            let others: Vec<_> = both
                .iter()
                .filter(|p| p.id != Identity::of(name))
                .copied()
                .collect();
            decide(&worker(name, &others), &[rare(oldest)], 0.0)
                .join
                .len()
        })
    };
    let first = takers(0.0);
    assert_eq!(first.iter().sum::<usize>(), 1, "one, at once: {first:?}");
    assert_eq!(takers(3.1), [1, 1], "the other when the first does not");
}

#[test]
fn a_starving_queue_comes_before_everything() {
    let terms = terms();
    let holders = [Identity::of("b")];
    let deep = QueueView {
        waiting: 10_000,
        holders: &holders,
        ..queue("deep", &terms)
    };
    let rare = |name, oldest| QueueView {
        waiting: 1,
        oldest: Duration::from_secs(oldest),
        ..queue(name, &terms)
    };
    let queues = [deep, rare("rare", 10), rare("rarest", 20)];
    let changes = decide(&worker("a", &[]), &queues, 0.0);
    assert_eq!(joined(&changes), ["rarest", "rare", "deep"]);
    let limited = WorkerView {
        cold: 1,
        ..worker("a", &[])
    };
    assert_eq!(joined(&decide(&limited, &queues, 0.0)), ["rarest"]);
}

#[test]
fn who_has_joined_a_starving_queue_keeps_it_until_its_model_is_there() {
    let terms = terms();
    let joined = QueueView {
        waiting: 1,
        subscribed: true,
        ..queue("rare", &terms)
    };
    assert_eq!(left(&decide(&worker("a", &[]), &[joined], 0.0)), []);
    let elsewhere = [Identity::of("b")];
    let taken = QueueView {
        holders: &elsewhere,
        ..joined
    };
    let changes = decide(&worker("a", &[]), &[taken], 0.0);
    assert_eq!(left(&changes), [LeaveReason::Cooled], "another has it now");
}

#[test]
fn pressure_is_jobs_per_consumer_and_not_depth() {
    let terms = terms();
    let holders: Vec<_> = (0..10).map(|i| Identity::of(&format!("h{i}"))).collect();
    let served_by = |consumers| QueueView {
        waiting: 20,
        holders: &holders[..consumers],
        ..queue("burst", &terms)
    };
    assert_eq!(
        decide(&worker("a", &[]), &[served_by(1)], 0.0).join.len(),
        1
    );
    assert_eq!(
        decide(&worker("a", &[]), &[served_by(10)], 0.0).join.len(),
        0
    );
}

#[test]
fn a_burst_draws_in_what_it_is_worth_and_not_everybody() {
    let terms = terms();
    let names: Vec<String> = (0..20).map(|i| format!("w{i}")).collect();
    let holders = [Identity::of("holder")];
    let burst = |waiting| QueueView {
        waiting,
        holders: &holders,
        ..queue("burst", &terms)
    };
    let drawn = |waiting| {
        let joins = |name: &String| {
            let others = names.iter().filter(|other| *other != name);
            let others: Vec<_> = others.map(|other| peer(other)).collect();
            decide(&worker(name, &others), &[burst(waiting)], 0.0)
                .join
                .len()
        };
        names.iter().map(joins).sum::<usize>()
    };
    assert!((1..=4).contains(&drawn(24)), "{}", drawn(24));
    assert_eq!(drawn(10_000), 20);
}

#[test]
fn chance_stands_still_within_its_window() {
    let terms = terms();
    let view = queue("a", &terms);
    let score = |now| {
        score(
            &worker("w", &[]),
            &view,
            &terms,
            &Scoring::default(),
            at(now),
        )
    };
    assert_eq!(score(0.0), score(29.9));
    assert_ne!(score(0.0), score(30.0));
}

#[test]
fn leaving_takes_a_much_worse_score_than_joining() {
    let terms = terms();
    let holders = [Identity::of("b")];
    let view = |waiting, subscribed| QueueView {
        waiting,
        subscribed,
        holders: &holders,
        ..queue("q", &terms)
    };
    let worker = worker("a", &[]);
    for waiting in 3..=5 {
        let undecided = [view(waiting, false)];
        assert_eq!(decide(&worker, &undecided, 0.0), Changes::default());
        let undecided = [view(waiting, true)];
        assert_eq!(decide(&worker, &undecided, 0.0), Changes::default());
    }
}

#[test]
fn preemptible_work_yields_to_work_that_could_not_be_taken_at_once() {
    let other = terms();
    let spare = Terms {
        preemptible: true,
        ..other
    };
    let training = QueueView {
        residence: Residence::Resident,
        subscribed: true,
        waiting: 3,
        ..queue("training", &spare)
    };
    let inference = |oldest| QueueView {
        residence: Residence::Resident,
        subscribed: true,
        waiting: 1,
        oldest: Duration::from_millis(oldest),
        ..queue("inference", &other)
    };
    let changes = |oldest| decide(&worker("a", &[]), &[training, inference(oldest)], 0.0);
    assert_eq!(left(&changes(20)), []);
    assert_eq!(left(&changes(1_000)), [LeaveReason::Yields]);
}

/// Rounds in which workers decide by what the others did `lag` rounds ago.
fn settle(
    names: &[String],
    terms: &Terms,
    name: &str,
    lag: usize,
    rounds: usize,
) -> Vec<Vec<bool>> {
    let mut rounds_before = vec![vec![false; names.len()]];
    for round in 0..rounds {
        let known = &rounds_before[rounds_before.len().saturating_sub(1 + lag)].clone();
        let now = rounds_before.last().cloned().unwrap_or_default();
        let next = (0..names.len()).map(|i| {
            let others = (0..names.len()).filter(|j| *j != i);
            let peers: Vec<_> = others.clone().map(|j| peer(&names[j])).collect();
            let holders: Vec<_> = others
                .filter(|j| known[*j])
                .map(|j| Identity::of(&names[j]))
                .collect();
            let view = QueueView {
                waiting: 500,
                oldest: Duration::from_secs(60),
                holders: &holders,
                subscribed: now[i],
                residence: if now[i] {
                    Residence::Resident
                } else {
                    Residence::Absent
                },
                ..queue(name, terms)
            };
            let changes = decide(&worker(&names[i], &peers), &[view], round as f64);
            (now[i] || !changes.join.is_empty()) && changes.leave.is_empty()
        });
        let next = next.collect();
        rounds_before.push(next);
    }
    rounds_before
}

proptest! {
    /// However late reports are: the cap holds in the end, it is used up, and
    /// nobody flaps.
    #[test]
    fn workers_that_hear_late_of_each_other_settle_on_the_cap(
        workers in 2usize..6,
        cap in 1u32..3,
        lag in 0usize..4,
        salt in any::<u32>(),
    ) {
        let names: Vec<String> = (0..workers).map(|i| format!("w{i}-{salt}")).collect();
        let capped = Terms { max_workers: NonZeroU32::new(cap), ..terms() };
        let rounds = settle(&names, &capped, "q", lag, 40);
        let last = rounds.last().unwrap();
        prop_assert_eq!(last.iter().filter(|held| **held).count(), (cap as usize).min(workers));
        prop_assert!(rounds[20..].iter().all(|round| round == last), "{:?}", rounds);
    }

    #[test]
    fn never_more_cold_joins_than_allowed_and_nothing_is_both_joined_and_left(
        cold in 0u32..5,
        waiting in prop::collection::vec((0u32..50, any::<bool>(), any::<bool>()), 1..40),
    ) {
        let terms = terms();
        let names: Vec<String> = (0..waiting.len()).map(|i| format!("m{i}")).collect();
        let queues: Vec<_> = names.iter().zip(&waiting).map(|(name, (waiting, subscribed, warm))| QueueView {
            waiting: *waiting,
            subscribed: *subscribed,
            residence: if *warm { Residence::Resident } else { Residence::Absent },
            ..queue(name, &terms)
        }).collect();
        let changes = decide(&WorkerView { cold, ..worker("a", &[]) }, &queues, 0.0);
        prop_assert!(changes.join.iter().filter(|join| join.cold).count() <= cold as usize);
        for (queue, (_, subscribed, warm)) in queues.iter().zip(&waiting) {
            let joins = joined(&changes).contains(&queue.queue);
            let leaves = changes.leave.iter().any(|leave| leave.queue == queue.queue);
            prop_assert!(!joins || !subscribed);
            prop_assert!(!leaves || *subscribed);
            prop_assert!(!warm || !leaves, "what is warm is kept");
        }
    }
}
