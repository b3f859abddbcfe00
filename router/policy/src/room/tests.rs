use proptest::prelude::*;

use super::*;
use crate::fleet::{Heat, Mib, Stage, shortage};

const GIB: u64 = 1_024;

fn at(seconds: u64) -> Moment {
    Moment::from_origin(Duration::from_secs(seconds))
}

fn gpu(total_mib: u64) -> Device {
    Device {
        total: Mib(total_mib),
        free: None,
    }
}

fn terms(mib: u64, gpus: u32) -> Terms {
    Terms {
        memory: Mib(mib),
        devices: gpus,
        ..Terms::default()
    }
}

/// An instance that has been ready since the origin.
fn resident<'a>(model: &'a str, devices: &'a [usize], mib: u64) -> Resident<'a> {
    Resident {
        model,
        devices,
        share: Mib(mib),
        in_flight: 0,
        waiting: 0,
        stage: Stage::Ready,
        since: at(0),
        last_used: at(0),
        heat: Heat::default(),
        others: 0,
        load_time: Duration::ZERO,
        pinned: false,
        preemptible: false,
    }
}

fn served_elsewhere<'a>(terms: &Terms, gpus: &[Device], held: &[Resident<'a>]) -> Room<'a> {
    let claim = Claim {
        terms,
        waits_since: None,
    };
    room(claim, gpus, held, &Eviction::default(), at(1_000))
}

fn waiting<'a>(
    terms: &Terms,
    gpus: &[Device],
    held: &[Resident<'a>],
    since: u64,
    now: u64,
) -> Room<'a> {
    let claim = Claim {
        terms,
        waits_since: Some(at(since)),
    };
    room(claim, gpus, held, &Eviction::default(), at(now))
}

#[test]
fn b17_a_gpu_that_is_too_small_is_refused_in_every_order() {
    let need = terms(86 * GIB + 512, 1);
    let (a, b, none) = (96 * GIB, 80 * GIB, 0);
    for order in [
        [a, b, none],
        [a, none, b],
        [b, a, none],
        [b, none, a],
        [none, a, b],
        [none, b, a],
    ] {
        let gpus = order.map(gpu);
        let place = order.iter().position(|total| *total == a).unwrap();
        let devices = vec![place];
        assert_eq!(
            served_elsewhere(&need, &gpus, &[]),
            Room::There {
                devices: devices.clone()
            },
            "{order:?}"
        );
        let held = [resident("first", &devices, need.memory.0)];
        assert_eq!(
            served_elsewhere(&need, &gpus, &held),
            Room::None { until: None }
        );
        assert_eq!(
            shortage(&need, &gpus, &held).to_string(),
            "86.5 GiB needed, 80 GiB free on the best GPU"
        );
    }
}

#[test]
fn what_others_took_is_not_there() {
    let read = |free| Device {
        free: Some(Mib(free)),
        ..gpu(24 * GIB)
    };
    let need = terms(11 * GIB, 1);
    assert_eq!(
        served_elsewhere(&need, &[read(10 * GIB)], &[]),
        Room::None { until: None }
    );
    let gpus = [read(10 * GIB), read(12 * GIB)];
    assert_eq!(
        served_elsewhere(&need, &gpus, &[]),
        Room::There { devices: vec![1] }
    );
}

/// 24 GiB, of which one instance has 11: it is counted once, whether it has
/// taken them yet or not.
#[test]
fn what_is_promised_counts_until_it_is_seen_and_never_twice() {
    let need = terms(11 * GIB, 1);
    let read = |free_gib: u64| {
        [Device {
            free: Some(Mib(free_gib * GIB)),
            ..gpu(24 * GIB)
        }]
    };
    let starting = [Resident {
        stage: Stage::Loading,
        ..resident("a", &[0], 11 * GIB)
    }];
    let ready = [resident("a", &[0], 11 * GIB)];
    let fits = Room::There { devices: vec![0] };
    assert_eq!(
        served_elsewhere(&need, &read(24), &starting),
        fits,
        "13 GiB are left"
    );
    assert_eq!(
        served_elsewhere(&terms(14 * GIB, 1), &read(24), &starting),
        Room::None { until: None }
    );
    assert_eq!(served_elsewhere(&need, &read(13), &ready), fits, "seen");
    assert_eq!(
        served_elsewhere(&need, &read(10), &ready),
        Room::None { until: None },
        "it took more"
    );
    assert_eq!(
        served_elsewhere(&terms(14 * GIB, 1), &read(24), &ready),
        Room::None { until: None },
        "it may take its floor at any time"
    );
}

#[test]
fn a_model_on_two_gpus_gets_two() {
    let need = terms(40 * GIB, 2);
    let gpus = [gpu(24 * GIB), gpu(16 * GIB), gpu(24 * GIB)];
    assert_eq!(
        served_elsewhere(&need, &gpus, &[]),
        Room::There {
            devices: vec![0, 2]
        }
    );
    assert_eq!(waiting(&terms(80 * GIB, 2), &gpus, &[], 0, 0), Room::Never);
}

#[test]
fn nobody_goes_for_a_deployment_that_another_tier_serves() {
    let held = [resident("a", &[0], 20 * GIB)];
    assert_eq!(
        served_elsewhere(&terms(20 * GIB, 1), &[gpu(24 * GIB)], &held),
        Room::None { until: None }
    );
}

#[test]
fn an_idle_one_makes_room_at_once_and_a_young_one_when_it_is_due() {
    let gpus = [gpu(24 * GIB)];
    let need = terms(20 * GIB, 1);
    let leaves = Room::Made {
        devices: vec![0],
        leaving: vec!["a"],
    };
    let held = [resident("a", &[0], 20 * GIB)];
    assert_eq!(waiting(&need, &gpus, &held, 100, 100), leaves);
    let young = [Resident {
        since: at(95),
        ..held[0]
    }];
    assert_eq!(
        waiting(&need, &gpus, &young, 100, 100),
        Room::None {
            until: Some(at(120))
        }
    );
    assert_eq!(waiting(&need, &gpus, &young, 100, 120), leaves);
}

#[test]
fn b18_a_busy_one_makes_room_after_the_fairness_limit() {
    let gpus = [gpu(24 * GIB), gpu(16 * GIB)];
    let busy = Resident {
        in_flight: 2,
        ..resident("a", &[0], 20 * GIB)
    };
    let held = [
        busy,
        Resident {
            in_flight: 1,
            ..resident("c", &[1], 12 * GIB)
        },
    ];
    let need = terms(20 * GIB, 1);
    assert_eq!(
        waiting(&need, &gpus, &held, 100, 119),
        Room::None {
            until: Some(at(120))
        }
    );
    assert_eq!(
        waiting(&need, &gpus, &held, 100, 120),
        Room::Made {
            devices: vec![0],
            leaving: vec!["a"]
        },
        "and C stays"
    );
}

#[test]
fn what_is_starting_is_left_to_finish() {
    let starting = [Resident {
        stage: Stage::Loading,
        ..resident("a", &[0], 20 * GIB)
    }];
    let need = terms(20 * GIB, 1);
    assert_eq!(
        waiting(&need, &[gpu(24 * GIB)], &starting, 0, 500),
        Room::None { until: None }
    );
}

#[test]
fn what_fits_nowhere_is_refused_at_once() {
    assert_eq!(
        waiting(&terms(25 * GIB, 1), &[gpu(24 * GIB)], &[], 0, 0),
        Room::Never
    );
    assert_eq!(waiting(&terms(1, 1), &[], &[], 0, 0), Room::Never);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Start { mib: u64, gpus: u32, waits: bool },
    Ready(usize),
    Stop(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0u64..50, 1u32..3, any::<bool>())
            .prop_map(|(mib, gpus, waits)| Step::Start { mib, gpus, waits }),
        1 => (0usize..8).prop_map(Step::Ready),
        1 => (0usize..8).prop_map(Step::Stop),
    ]
}

proptest! {
    /// Whatever comes and goes in whatever order, no GPU is promised more than
    /// it has, and none is left out because of the order that GPUs are in.
    #[test]
    fn promises_never_exceed_any_gpu(
        totals in prop::collection::vec(0u64..100, 1..5),
        steps in prop::collection::vec(any_step(), 1..40),
    ) {
        let gpus: Vec<Device> = totals.iter().map(|total| gpu(*total)).collect();
        let mut held: Vec<(Vec<usize>, u64, bool)> = Vec::new();
        for step in steps {
            match step {
                Step::Start { mib, gpus: spread, waits } => {
                    let need = terms(mib, spread);
                    let residents: Vec<Resident> = held
                        .iter()
                        .map(|(devices, share, loading)| Resident { stage: if *loading { Stage::Loading } else { Stage::Ready }, ..resident("", devices, *share) })
                        .collect();
                    let since = waits.then(|| at(0));
                    let claim = Claim { terms: &need, waits_since: since };
                    match room(claim, &gpus, &residents, &Eviction::default(), at(1_000)) {
                        Room::There { devices } => held.push((devices, need.share().0, true)),
                        Room::Made { leaving, .. } => prop_assert!(waits && !leaving.is_empty()),
                        Room::None { .. } | Room::Never => {
                            let best = shortage(&need, &gpus, &residents).best;
                            let enough = totals.len() >= need.spread();
                            prop_assert!(!enough || best < need.share());
                        }
                    }
                }
                Step::Ready(index) => if let Some(one) = held.get_mut(index) { one.2 = false },
                Step::Stop(index) => if index < held.len() { held.remove(index); },
            }
            for (device, total) in totals.iter().enumerate() {
                let on = held.iter().filter(|(devices, ..)| devices.contains(&device));
                prop_assert!(on.map(|(_, share, _)| share).sum::<u64>() <= *total);
            }
        }
    }
}
