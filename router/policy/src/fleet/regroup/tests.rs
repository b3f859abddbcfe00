use std::time::Duration;

use proptest::prelude::*;

use super::*;

const LOAD: f64 = 10.0;
const RUN: f64 = 1.0;

fn at(seconds: f64) -> Moment {
    Moment::from_origin(Duration::from_secs_f64(seconds))
}

/// What happened to one job, in seconds.
#[derive(Debug, Clone, Copy)]
struct Ran {
    model: char,
    arrived: f64,
    turn: f64,
    chosen: f64,
}

/// One exclusive GPU with room for one model, and jobs that arrive `apart`
/// seconds after each other; how they ran, and the loads that it took.
fn exclusive(jobs: &str, apart: f64, bound: f64) -> (Vec<Ran>, usize) {
    let mut regroup = Regroup::new(Duration::from_secs_f64(bound));
    let arrivals = jobs
        .chars()
        .enumerate()
        .map(|(i, model)| (model, i as f64 * apart));
    let mut waiting: Vec<(char, f64)> = arrivals.collect();
    let (mut now, mut loaded, mut loads, mut ran) = (0.0, None, 0, Vec::new());
    let mut turn = (('?', -1.0), 0.0);
    while let Some(earliest) = waiting.first() {
        now = f64::max(now, earliest.1);
        let there: Vec<(char, f64)> = waiting.iter().filter(|job| job.1 <= now).copied().collect();
        if turn.0 != there[0] {
            turn = (there[0], now);
        }
        let names: Vec<String> = there.iter().map(|job| job.0.to_string()).collect();
        let views: Vec<Waiting> = names
            .iter()
            .zip(&there)
            .map(|(model, job)| Waiting {
                model,
                since: at(job.1),
                warm: loaded == Some(job.0),
            })
            .collect();
        let chosen = regroup.next(&views, at(now)).unwrap();
        let (model, arrived) = waiting.remove(chosen);
        let turn = if chosen == 0 { turn.1 } else { now };
        ran.push(Ran {
            model,
            arrived,
            turn,
            chosen: now,
        });
        if loaded != Some(model) {
            (loaded, loads, now) = (Some(model), loads + 1, now + LOAD);
        }
        now += RUN;
    }
    (ran, loads)
}

#[test]
fn a_b_a_a_c_a_b_c_costs_three_loads_when_all_are_there() {
    let (ran, loads) = exclusive("ABAACABC", 0.0, 30.0);
    assert_eq!(loads, 3);
    let order: String = ran.iter().map(|job| job.model).collect();
    assert_eq!(order, "AAAABBCC");
}

#[test]
fn and_at_most_four_as_they_come_in() {
    for apart in [0.5, 1.0, 2.0, 3.0] {
        let (_, loads) = exclusive("ABAACABC", apart, 30.0);
        assert!(loads <= 4, "{loads} loads at {apart} s apart");
    }
    assert_eq!(exclusive("ABAACABC", 0.0, 0.0).1, 7, "without regrouping");
}

#[test]
fn a_stream_for_the_loaded_model_starves_nobody() {
    let jobs = format!("AB{}", "A".repeat(200));
    let (ran, _) = exclusive(&jobs, 0.5, 20.0);
    let other = ran.iter().find(|job| job.model == 'B').unwrap();
    assert!(other.chosen - other.turn <= 20.0 + LOAD + RUN, "{other:?}");
}

#[test]
fn nothing_waits_nothing_is_next() {
    assert_eq!(Regroup::new(Duration::ZERO).next(&[], at(0.0)), None);
}

proptest! {
    #[test]
    fn order_is_kept_within_a_model_and_nobody_waits_longer_than_the_bound_beyond_its_turn(
        jobs in "[A-D]{1,40}",
        apart in 0.0f64..6.0,
        bound in 0.0f64..60.0,
    ) {
        let (ran, loads) = exclusive(&jobs, apart, bound);
        prop_assert!(loads <= exclusive(&jobs, apart, 0.0).1 + 1);
        for model in 'A'..='D' {
            let of = ran.iter().filter(|job| job.model == model);
            let arrived: Vec<f64> = of.map(|job| job.arrived).collect();
            prop_assert!(arrived.is_sorted());
        }
        for job in &ran {
            prop_assert!(job.chosen - job.turn <= bound + LOAD + RUN, "{job:?}");
        }
    }
}
