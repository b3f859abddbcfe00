use thermocline_policy::{SLOT, Tier, UsdPerSecond, Work};
use thermocline_simulate::{Assumptions, Candidate, Fleet, Ledger, SlotCount};

use super::*;

/// A pod for a tenth of a worker's price, which is paid for work alone.
fn model(boot: u64) -> CostModel {
    CostModel {
        prices: Prices {
            serverless: UsdPerSecond::of(0.002),
            pod: UsdPerSecond::of(0.000_2),
            wait: UsdPerSecond::ZERO,
        },
        work: Work {
            service: Duration::from_millis(500),
            service_on_pod: Duration::from_millis(500),
            cold_start: Duration::ZERO,
            serverless_idle: Duration::ZERO,
            boot: Duration::from_secs(boot),
            ..Work::default()
        },
    }
}

fn at(seconds: u64) -> Moment {
    Moment::from_origin(Duration::from_secs(seconds))
}

/// One request in each second from 40 s to `last`, all on serverless, and a look each
/// second until 20 s later; `model` and `measured` tell what is known when.
fn live(last: u64, model: impl Fn(u64) -> CostModel, measured: impl Fn(u64) -> bool) -> WhatIf {
    let mut comparison = Comparison::begin(at(0));
    let (mut sum, mut arrivals) = (WhatIf::default(), 0);
    for second in 0..last + 20 {
        let (model, requests) = (model(second), u64::from((40..last).contains(&second)));
        if measured(second) {
            comparison.measured_boot(model.work.boot);
        }
        arrivals += requests as i64;
        let count = Count {
            start: at(second),
            span: Duration::from_secs(1),
            requests,
            in_hand: 0,
        };
        comparison.count(count, &model);
        comparison.pay(0.001 * requests as f64);
        if (second + 1) % 10 == 0 {
            let added =
                comparison.end_slot(at(second + 1), std::mem::take(&mut arrivals), true, &model);
            sum.add(&added.unwrap_or_default());
        }
    }
    sum
}

/// The optimum of the same arrivals, as the ledger has them.
fn replayed(model: CostModel) -> f64 {
    let counts = (4..8).map(|slot| SlotCount {
        slot,
        deployment: "m".to_owned(),
        arrivals: 10,
    });
    let ledger = Ledger::new(SLOT, counts.collect());
    let assumptions = Assumptions::of(model);
    let candidates = [Candidate::Always(Tier::Serverless)];
    let mut fleet = Fleet::new(&candidates, &assumptions, 1);
    ledger.replay(&[assumptions], |arrival| fleet.arrive(arrival));
    fleet.finish(&[]).0.optimum.cost_usd.unwrap_or(f64::NAN)
}

/// Serverless for as many seconds as the boot takes, at $0.001 a request; the pod from
/// the first request to the end of the last, for 39.5 s. One that boots at once
/// is paid for its work alone: 40 times half a second.
#[test]
fn the_optimum_is_that_of_the_replay_however_short_a_boot_is() {
    for (boot, usd) in [(0, 0.004), (2, 0.009_9), (5, 0.012_9)] {
        let live = live(80, |_| model(boot), |_| true);
        let replayed = replayed(model(boot));
        assert!((live.optimum - usd).abs() < 1e-9, "{boot} s: {live:?}");
        assert!(
            (live.optimum - replayed).abs() < 1e-12,
            "{boot} s: {replayed}"
        );
        assert!((live.serverless - 0.04).abs() < 1e-9, "{boot} s: {live:?}");
    }
    // Whoever has had a pod since 40 s before the first request pays less than for
    // a boot during which serverless serves; a replay begins with that request.
    let slow = live(80, |_| model(30), |_| true);
    assert_eq!(slow.optimum, slow.pod);
    assert!(slow.pod < 0.037_9, "{slow:?}");
}

#[test]
fn what_came_before_the_prices_is_compared_for_a_minute() {
    let priced_from = |from| {
        move |second| {
            let mut model = model(2);
            model.prices.pod = model.prices.pod.filter(|_| second >= from);
            model
        }
    };
    let in_time = live(80, priced_from(55), |_| true);
    assert_eq!(in_time.arrivals, 40);
    assert!((in_time.optimum - 0.009_9).abs() < 1e-9, "{in_time:?}");
    let late = live(80, priced_from(65), |_| true);
    // By 60 s twenty had come.
    assert_eq!(late.arrivals, 20);
    assert!((late.serverless - 0.02).abs() < 1e-9, "{late:?}");
    assert!((late.paid - 0.02).abs() < 1e-9, "{late:?}");
}

/// Until a pod was seen to boot in 2 s it is thought to take 150 s.
#[test]
fn a_boot_that_is_measured_later_counts_from_the_beginning_on() {
    let learnt_at = |second| move |now| model(if now < second { 150 } else { 2 });
    let prior = live(500, |_| model(150), |_| false);
    let known = live(500, |_| model(2), |_| true);
    // By 150 s, 110 had come, and were beside it.
    assert!((prior.pod - known.pod - 0.11).abs() < 1e-9, "{prior:?}");
    let learnt = live(500, learnt_at(70), |now| now >= 70);
    assert!(
        (learnt.pod - known.pod).abs() < 1e-9,
        "{learnt:?} {known:?}"
    );
    assert!(
        (learnt.optimum - known.optimum).abs() < 1e-9,
        "{learnt:?} {known:?}"
    );
}

/// More than can be kept is not costed again.
#[test]
fn of_too_much_the_assumed_boot_stands() {
    let mut comparison = Comparison::begin(at(0));
    let flood = |second| Count {
        start: at(second),
        span: Duration::from_secs(1),
        requests: 1_000,
        in_hand: 0,
    };
    for second in 0..101 {
        comparison.count(flood(second), &model(150));
    }
    comparison.end_slot(at(101), 101_000, true, &model(150));
    let before = comparison.told;
    comparison.measured_boot(Duration::from_secs(2));
    comparison.end_slot(at(101), 0, true, &model(2));
    let after = comparison.told;
    assert_eq!((before.pod, before.optimum), (after.pod, after.optimum));
}

/// Three requests wait for a pod of 30 s, which nobody has paid for yet.
#[test]
fn what_is_not_paid_for_yet_bounds_nothing() {
    let optimum = |at_rest_from| {
        let mut comparison = Comparison::begin(at(0));
        for second in 0..60 {
            let count = Count {
                start: at(second),
                span: Duration::from_secs(1),
                requests: if second == 30 { 3 } else { 0 },
                in_hand: 0,
            };
            comparison.count(count, &model(150));
            comparison.pay(0.000_01);
            if second % 10 == 9 {
                let at_rest = second >= at_rest_from;
                comparison.end_slot(at(second + 1), 0, at_rest, &model(150));
            }
        }
        comparison.optimum.hindsight().least()
    };
    // Of what was paid in the first 40 s, three requests cannot be served; in 60 s they were.
    assert!((optimum(59) - 0.000_6).abs() < 1e-9);
    // One worker from the first of the three on, for half a second after the last.
    let serverless = 0.002 * (2.0 / 3.0 + 0.5);
    assert!((optimum(100) - serverless).abs() < 1e-9);
}
