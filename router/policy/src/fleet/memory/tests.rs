mod properties;

use std::time::Duration;

use super::*;

fn at(seconds: u64) -> Moment {
    Moment::from_origin(Duration::from_secs(seconds))
}

fn gpus<const N: usize>(total: u64) -> [Device; N] {
    [Device {
        total: Mib(total),
        free: None,
    }; N]
}

fn heat(uses: u64) -> Heat {
    let mut heat = Heat::default();
    (0..uses).for_each(|_| heat.used(at(1_000), Eviction::default().half_life));
    heat
}

/// An idle model on the first device, there for long.
fn idle(model: &str, share: u64, uses: u64) -> Resident<'_> {
    Resident {
        model,
        devices: &[0],
        share: Mib(share),
        in_flight: 0,
        waiting: 0,
        stage: Stage::Ready,
        since: at(0),
        last_used: at(0),
        heat: heat(uses),
        others: 0,
        load_time: Duration::from_secs(10),
        pinned: false,
        preemptible: false,
    }
}

fn terms(memory: u64) -> Terms {
    Terms {
        memory: Mib(memory),
        ..Terms::default()
    }
}

fn ask<'a>(terms: &Terms, devices: &[Device], residents: &[Resident<'a>]) -> Admission<'a> {
    let want = Want {
        terms,
        starving: false,
    };
    admit(&want, devices, residents, &Eviction::default(), at(1_000))
}

fn starved<'a>(terms: &Terms, devices: &[Device], residents: &[Resident<'a>]) -> Admission<'a> {
    let want = Want {
        terms,
        starving: true,
    };
    admit(&want, devices, residents, &Eviction::default(), at(1_000))
}

fn evict<'a>(devices: &[usize], idle: &[&'a str]) -> Admission<'a> {
    Admission::Evict {
        devices: devices.to_vec(),
        idle: idle.to_vec(),
        yielding: vec![],
    }
}

#[test]
fn what_fits_evicts_nobody() {
    let held = [idle("a", 30, 1)];
    assert_eq!(
        ask(&terms(70), &gpus::<1>(100), &held),
        Admission::Fits { devices: vec![0] }
    );
    assert_eq!(ask(&terms(71), &gpus::<1>(100), &held), evict(&[0], &["a"]));
    assert_eq!(ask(&terms(101), &gpus::<1>(100), &held), Admission::Never);
}

#[test]
fn what_is_used_little_for_its_size_goes_first() {
    let held = [
        idle("hot", 30, 9),
        idle("cold", 30, 1),
        idle("large", 40, 4),
    ];
    assert_eq!(
        ask(&terms(20), &gpus::<1>(100), &held),
        evict(&[0], &["cold"])
    );
    let slow = Resident {
        load_time: Duration::from_secs(300),
        ..idle("cold", 30, 1)
    };
    let held = [idle("hot", 30, 9), slow, idle("large", 40, 4)];
    assert_eq!(
        ask(&terms(20), &gpus::<1>(100), &held),
        evict(&[0], &["large"]),
        "dear to reload"
    );
}

#[test]
fn a_copy_that_others_have_too_goes_before_what_only_this_worker_has() {
    let copy = Resident {
        others: 2,
        ..idle("copy", 30, 60)
    };
    let held = [idle("only", 30, 1), copy];
    assert_eq!(
        ask(&terms(40), &gpus::<1>(70), &held),
        evict(&[0], &["copy"])
    );
    let alone = [idle("only", 30, 1), Resident { others: 0, ..copy }];
    assert_eq!(
        ask(&terms(40), &gpus::<1>(70), &alone),
        evict(&[0], &["only"])
    );
}

#[test]
fn one_large_model_may_cost_many_small_ones_and_no_more_than_it_needs() {
    let names: Vec<String> = (0..50).map(|i| format!("m{i}")).collect();
    let held: Vec<_> = names.iter().map(|name| idle(name, 2, 1)).collect();
    let Admission::Evict { idle, .. } = ask(&terms(80), &gpus::<1>(100), &held) else {
        panic!("all of them are idle");
    };
    assert_eq!(idle.len(), 40);
    let held = [
        super::tests::idle("small", 1, 0),
        super::tests::idle("large", 99, 1),
    ];
    assert_eq!(
        ask(&terms(60), &gpus::<1>(100), &held),
        evict(&[0], &["large"]),
        "the small one is spared"
    );
}

#[test]
fn work_in_hand_a_load_and_a_pin_are_never_interrupted() {
    let kept = [
        Resident {
            in_flight: 1,
            ..idle("busy", 100, 0)
        },
        Resident {
            stage: Stage::Loading,
            ..idle("loading", 100, 0)
        },
    ];
    for resident in kept {
        assert_eq!(
            starved(&terms(50), &gpus::<1>(100), &[resident]),
            Admission::Wait { until: None }
        );
    }
    let pinned = Resident {
        pinned: true,
        ..idle("pinned", 60, 0)
    };
    assert_eq!(
        starved(&terms(50), &gpus::<1>(100), &[pinned]),
        Admission::Never
    );
    assert_eq!(
        starved(&terms(40), &gpus::<1>(100), &[pinned]),
        Admission::Fits { devices: vec![0] }
    );
}

#[test]
fn the_young_stay_unless_somebody_starves() {
    let young = Resident {
        since: at(990),
        ..idle("young", 100, 1)
    };
    let held = [young];
    assert_eq!(
        ask(&terms(50), &gpus::<1>(100), &held),
        Admission::Wait {
            until: Some(at(1_020))
        }
    );
    assert_eq!(
        starved(&terms(50), &gpus::<1>(100), &held),
        evict(&[0], &["young"])
    );
    let old = [young, idle("old", 100, 50)];
    assert_eq!(
        starved(&terms(50), &gpus::<1>(200), &old),
        Admission::Evict {
            devices: vec![0],
            idle: vec!["old"],
            yielding: vec![]
        }
    );
}

#[test]
fn preemptible_work_waits_for_a_lull_not_for_the_old_age_of_what_is_idle() {
    let preemptible = Terms {
        preemptible: true,
        ..terms(50)
    };
    let young = |last_used, waiting| Resident {
        since: at(990),
        last_used: at(last_used),
        waiting,
        ..idle("young", 100, 1)
    };
    let asked = |resident| match starved(&preemptible, &gpus::<1>(100), &[resident]) {
        Admission::Evict { idle, .. } => idle == ["young"],
        _ => false,
    };
    assert!(asked(young(995, 0)));
    assert!(!asked(young(996, 0)), "it may have work in a moment");
    assert!(!asked(young(995, 1)), "it has work");
    let old = |last_used| Resident {
        since: at(0),
        ..young(last_used, 0)
    };
    assert!(asked(old(995)));
    assert!(!asked(old(996)), "however long it has been there");
}

#[test]
fn a_model_that_jobs_wait_for_goes_only_for_one_that_starves() {
    let awaited = [Resident {
        waiting: 3,
        ..idle("awaited", 100, 1)
    }];
    assert_eq!(
        ask(&terms(50), &gpus::<1>(100), &awaited),
        Admission::Wait { until: None }
    );
    assert_eq!(
        starved(&terms(50), &gpus::<1>(100), &awaited),
        evict(&[0], &["awaited"])
    );
}

#[test]
fn preemptible_work_yields_even_while_it_runs() {
    let training = [
        Resident {
            in_flight: 1,
            preemptible: true,
            ..idle("training", 60, 1)
        },
        idle("inference", 40, 1),
    ];
    assert_eq!(
        ask(&terms(40), &gpus::<1>(100), &training),
        evict(&[0], &["inference"]),
        "idle first"
    );
    let both = Admission::Evict {
        devices: vec![0],
        idle: vec![],
        yielding: vec!["training"],
    };
    assert_eq!(ask(&terms(60), &gpus::<1>(100), &training), both);
    let more_training = Terms {
        preemptible: true,
        ..terms(60)
    };
    assert_eq!(
        starved(&more_training, &gpus::<1>(100), &training),
        Admission::Wait { until: None }
    );
}

#[test]
fn a_reading_that_shows_less_free_is_believed() {
    let device = |free| {
        [Device {
            total: Mib(100),
            free: Some(Mib(free)),
        }]
    };
    assert_eq!(
        ask(&terms(60), &device(50), &[]),
        Admission::Wait { until: None },
        "somebody else has it"
    );
    assert_eq!(
        ask(&terms(50), &device(50), &[]),
        Admission::Fits { devices: vec![0] }
    );
    let loading = [Resident {
        stage: Stage::Loading,
        ..idle("loading", 30, 0)
    }];
    assert_eq!(
        ask(&terms(30), &device(55), &loading),
        Admission::Wait { until: None },
        "reserved, not yet visible"
    );
}

#[test]
fn a_model_goes_where_the_least_is_lost() {
    let on = |model, device: &'static [usize], uses| Resident {
        devices: device,
        ..idle(model, 90, uses)
    };
    let held = [on("a", &[0], 9), on("b", &[1], 2), on("c", &[2], 5)];
    assert_eq!(ask(&terms(50), &gpus::<3>(100), &held), evict(&[1], &["b"]));
    let spread = Terms {
        devices: 2,
        ..terms(100)
    };
    assert_eq!(
        ask(&spread, &gpus::<3>(100), &held),
        evict(&[1, 2], &["b", "c"])
    );
    let across = [on("wide", &[0, 1], 1), on("c", &[2], 5)];
    assert_eq!(
        ask(&spread, &gpus::<3>(100), &across),
        evict(&[0, 1], &["wide"])
    );
    assert_eq!(
        ask(
            &Terms {
                devices: 4,
                ..spread
            },
            &gpus::<3>(100),
            &held
        ),
        Admission::Never
    );
}
