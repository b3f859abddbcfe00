use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::Moment;
use crate::fleet::{Mib, Shape, Terms};

fn terms() -> PoolTerms {
    PoolTerms {
        floor: 2,
        ceiling: 100,
        permits_each: 8,
        ..PoolTerms::default()
    }
}

/// `ready` workers with 8 permits each.
fn pool(ready: u32, in_flight: u32, waiting: u64) -> PoolView {
    PoolView {
        waiting,
        in_flight,
        permits: ready * 8,
        ready,
        starting: 0,
        finished_per_s: f64::from(in_flight),
    }
}

#[test]
fn no_backlog_at_95_percent_is_no_idleness() {
    assert_eq!(workers_wanted(&pool(10, 76, 0), &terms()), 14);
    assert_eq!(workers_wanted(&pool(10, 4, 0), &terms()), 2);
    assert_eq!(
        workers_wanted(&pool(10, 56, 0), &terms()),
        10,
        "at the target"
    );
}

#[test]
fn a_backlog_is_worked_off_in_time_by_what_jobs_take() {
    let quick = pool(10, 80, 2_400);
    assert_eq!(workers_wanted(&quick, &terms()), 25);
    let slow = PoolView {
        finished_per_s: 8.0,
        ..quick
    };
    assert_eq!(workers_wanted(&slow, &terms()), 100, "ten times the time");
}

#[test]
fn floor_ceiling_and_gpus_bound_it() {
    let none = PoolView::default();
    assert_eq!(workers_wanted(&none, &terms()), 2);
    let cold = PoolView { waiting: 1, ..none };
    let from_zero = PoolTerms {
        floor: 0,
        ..terms()
    };
    assert_eq!(workers_wanted(&none, &from_zero), 0);
    assert_eq!(workers_wanted(&cold, &from_zero), 1, "somebody must do it");
    let budget = PoolTerms {
        gpu_budget: Some(13),
        gpus_each: 4,
        ..terms()
    };
    assert_eq!(workers_wanted(&pool(3, 24, 90_000), &budget), 3);
}

#[test]
fn up_at_once_and_down_after_the_window() {
    let at = |seconds| Moment::from_origin(Duration::from_secs(seconds));
    let mut stabiliser = Stabiliser::new(Duration::from_secs(300));
    assert_eq!(
        stabiliser.settle(2, 4, at(0)),
        4,
        "a restart scales nothing down"
    );
    assert_eq!(stabiliser.settle(9, 4, at(10)), 9);
    assert_eq!(stabiliser.settle(3, 9, at(200)), 9);
    assert_eq!(stabiliser.settle(5, 9, at(300)), 9);
    assert_eq!(stabiliser.settle(2, 9, at(311)), 5);
    assert_eq!(stabiliser.settle(2, 5, at(601)), 2);
}

#[test]
fn a_new_worker_loads_what_is_pinned_and_then_the_hottest_that_fits() {
    let sized = |memory| Terms {
        memory: Mib(memory),
        ..Terms::default()
    };
    let (small, large) = (sized(10), sized(60));
    let pinned = Terms {
        pinned: true,
        ..large
    };
    let capped = Terms {
        max_workers: NonZeroU32::new(1),
        ..small
    };
    let cpu = Terms {
        shape: Shape::Cpu,
        ..small
    };
    let model = |model, terms, heat| Prewarm {
        model,
        terms,
        heat,
        load_time: Duration::from_secs(10),
        holders: 1,
    };
    let models = [
        model("cool", &small, 1.0),
        model("hot", &small, 9.0),
        model("large", &large, 20.0),
        model("pinned", &pinned, 0.0),
        model("unused", &small, 0.0),
        model("held", &capped, 99.0),
        model("cpu", &cpu, 99.0),
    ];
    assert_eq!(prewarm(&models, &[Mib(75)], Shape::Gpu), ["pinned", "hot"]);
    assert_eq!(
        prewarm(&models, &[Mib(75), Mib(75)], Shape::Gpu),
        ["pinned", "hot", "large", "cool"]
    );
}

proptest! {
    #[test]
    fn a_stabiliser_is_the_most_that_was_wanted_in_the_window(
        wishes in prop::collection::vec((0u64..200, 0u32..50), 1..60),
    ) {
        let mut stabiliser = Stabiliser::new(Duration::from_secs(300));
        let (mut now, mut said) = (0, Vec::new());
        for (gap, wanted) in wishes {
            now += gap;
            said.push((now, wanted));
            let settled = stabiliser.settle(wanted, 0, Moment::from_origin(Duration::from_secs(now)));
            let recent = said.iter().filter(|(at, _)| now - at <= 300);
            prop_assert_eq!(settled, recent.map(|(_, wanted)| *wanted).max().unwrap());
        }
    }

    #[test]
    fn more_work_never_wants_fewer_workers_and_bounds_hold(
        ready in 0u32..50, in_flight in 0u32..400, waiting in 1u64..100_000, more in 0u64..1_000,
    ) {
        let pool = pool(ready, in_flight.min(ready * 8), waiting);
        let wanted = workers_wanted(&pool, &terms());
        let with_more = PoolView { waiting: waiting + more, ..pool };
        prop_assert!(wanted <= workers_wanted(&with_more, &terms()));
        prop_assert!((2..=100).contains(&wanted));
    }
}
