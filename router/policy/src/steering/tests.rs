use super::*;
use crate::{Prices, UsdPerSecond};

fn model(wait: f64) -> CostModel {
    CostModel {
        prices: Prices {
            serverless: UsdPerSecond::of(0.000_76),
            pod: UsdPerSecond::hourly(1.39),
            wait: UsdPerSecond::of(wait).unwrap(),
        },
        ..CostModel::default()
    }
}

fn steering(mode: PolicyMode, model: &CostModel) -> Steering {
    let mut steering = Steering::new(mode, Margins::default(), Thresholds::default());
    steering.learn(model);
    steering
}

fn break_even(model: &CostModel) -> f64 {
    match model.break_even() {
        BreakEven::At(rate) => rate.as_per_second(),
        other => panic!("{other:?}"),
    }
}

const NEVER: (f64, f64) = (f64::INFINITY, f64::INFINITY);
const STAY: (f64, f64) = (f64::INFINITY, 0.0);

fn rates(steering: &Steering) -> (f64, f64) {
    let in_force = steering.thresholds();
    (in_force.promote_rps, in_force.demote_rps)
}

#[test]
fn break_even_leaves_room_around_the_rate_of_equal_cost() {
    let model = model(0.0);
    let at = break_even(&model);
    let steering = steering(PolicyMode::BreakEven, &model);
    assert_eq!(rates(&steering), (2.0 * at, 0.5 * at));
    assert_eq!(steering.thresholds().least_arrivals, 10);
}

#[test]
fn a_small_break_even_widens_the_window_to_half_an_hour_at_most() {
    let mid = steering(PolicyMode::BreakEven, &model(0.0));
    let wide = mid.thresholds().window.as_secs_f64();
    let expected = 16.0 / break_even(&model(0.0));
    assert!((wide - expected).abs() < 1e-6, "{wide} {expected}");
    assert!((300.0..1800.0).contains(&wide), "{wide}");
    let dear = steering(PolicyMode::BreakEven, &model(0.05));
    assert_eq!(dear.thresholds().window, Duration::from_secs(1800));
}

#[test]
fn without_both_prices_the_fixed_thresholds_hold() {
    let mut unpriced = model(0.0);
    unpriced.prices.pod = None;
    for mode in PolicyMode::ALL {
        let steering = steering(mode, &unpriced);
        assert_eq!(*steering.thresholds(), Thresholds::default(), "{mode:?}");
        let limit = Duration::from_secs(600);
        assert_eq!(steering.pod_idle(limit), limit);
    }
}

#[test]
fn while_the_first_prices_are_on_their_way_nothing_moves() {
    let mut unpriced = model(0.0);
    unpriced.prices.serverless = None;
    for mode in [PolicyMode::BreakEven, PolicyMode::Regret] {
        let mut steering = steering(mode, &unpriced);
        steering.await_prices(true);
        assert_eq!(rates(&steering), STAY, "{mode:?}");
        steering.await_prices(false);
        assert_eq!(*steering.thresholds(), Thresholds::default(), "{mode:?}");
    }
    let mut fixed = steering(PolicyMode::Thresholds, &unpriced);
    fixed.await_prices(true);
    assert_eq!(
        *fixed.thresholds(),
        Thresholds::default(),
        "needs no prices"
    );
}

#[test]
fn a_pod_that_never_pays_is_never_taken_and_one_that_is_free_always() {
    let mut dear = model(0.0);
    dear.prices.pod = UsdPerSecond::of(0.000_76);
    let mut free = model(0.0);
    free.prices.pod = UsdPerSecond::of(0.0);
    assert_eq!(rates(&steering(PolicyMode::BreakEven, &dear)), NEVER);
    assert_eq!(rates(&steering(PolicyMode::Regret, &dear)), NEVER);
    let free = steering(PolicyMode::BreakEven, &free);
    assert_eq!(rates(&free), (0.0, 0.0));
    assert_eq!(
        free.thresholds().promote_count(),
        1.0,
        "from the first request on"
    );
}

#[test]
fn regret_moves_once_the_other_tier_would_have_saved_a_switch() {
    let model = model(0.0);
    let mut steering = steering(PolicyMode::Regret, &model);
    let slot = SlotCost {
        serverless: 0.02,
        spill: 0.0,
        last_work: 0.0,
        machine: 0.01,
    };
    let needed = (model.switch_usd() / 0.01).ceil() as u32;
    for i in 1..=needed {
        assert_eq!(rates(&steering), STAY, "slot {i}");
        steering.end_slot(slot, Some(Tier::Serverless));
    }
    assert_eq!(rates(&steering), (0.0, 0.0), "promotes");
    let regret = steering.regret();
    assert_eq!(regret.saved_usd(), regret.switch_usd());
    // Moved: it begins anew, and asks for nothing.
    steering.end_slot(slot, Some(Tier::Pod));
    assert_eq!(
        (rates(&steering), steering.regret().saved_usd()),
        (STAY, 0.0)
    );
    // Silence: the pod costs what it costs, serverless nothing.
    let machine = 1.39 / 360.0;
    let quiet = SlotCost {
        machine,
        ..SlotCost::default()
    };
    for _ in 0..(model.switch_usd() / machine).ceil() as u32 {
        assert_eq!(rates(&steering), STAY);
        steering.end_slot(quiet, Some(Tier::Pod));
    }
    assert_eq!(rates(&steering), NEVER, "demotes");
}

#[test]
fn an_idle_pod_is_kept_as_long_as_coming_back_would_cost() {
    let limit = Duration::from_secs(3600);
    let worth = model(0.005).worth_keeping().unwrap();
    // 150 s of boot, and (0.00076 + 0.005) $/s × 30 s at $1.39 an hour.
    let expected = 150.0 + 0.005_76 * 30.0 * 3600.0 / 1.39;
    assert!((worth.as_secs_f64() - expected).abs() < 1e-6);
    assert_eq!(
        steering(PolicyMode::Regret, &model(0.005)).pod_idle(limit),
        worth
    );
    let cheap = steering(PolicyMode::BreakEven, &model(0.0));
    assert_eq!(cheap.pod_idle(limit), Duration::from_secs(300));
    assert_eq!(
        cheap.pod_idle(Duration::from_secs(60)),
        Duration::from_secs(60)
    );
    assert_eq!(
        steering(PolicyMode::Thresholds, &model(0.0)).pod_idle(limit),
        limit
    );
}

#[test]
fn an_objective_that_serverless_misses_takes_a_pod_until_it_would_be_met() {
    let model = model(0.0);
    let service = Duration::from_secs(3);
    let hold = |steering: &mut Steering, rps: f64, most: u64| {
        let rate = Rate::per_second(rps).unwrap();
        steering.hold_to(Some(Duration::from_secs(most)), service, rate);
        steering.is_held_to_objective()
    };
    let mut thresholds = steering(PolicyMode::Thresholds, &model);
    assert!(!hold(&mut thresholds, 2.0, 8), "no cold starts to speak of");
    assert_eq!(*thresholds.thresholds(), Thresholds::default());
    assert!(
        hold(&mut thresholds, 0.05, 8),
        "every other request is cold"
    );
    assert_eq!(rates(&thresholds), (0.0, 0.0));
    let in_force = thresholds.thresholds();
    assert_eq!(
        (in_force.basis, in_force.hold_up),
        (Basis::Objective, Duration::ZERO),
        "no hold but the one that was asked for"
    );
    assert!(hold(&mut thresholds, 0.0, 8), "silence proves nothing");
    assert!(!hold(&mut thresholds, 2.0, 8));
    assert!(
        !hold(&mut thresholds, 0.05, 60),
        "a cold start is within it"
    );
    assert!(
        hold(&mut thresholds, 2.0, 1),
        "neither meets it: the faster one"
    );
}

#[test]
fn an_objective_near_the_rate_of_now_does_not_flap() {
    let model = model(0.0);
    let mut steering = steering(PolicyMode::Thresholds, &model);
    let mut changes = 0;
    let mut before = false;
    for i in 0..1_000 {
        // Around the rate at which serverless just meets it.
        let rate = Rate::per_second(0.62 + 0.04 * f64::from(i % 7 - 3)).unwrap();
        steering.hold_to(Some(Duration::from_secs(8)), Duration::from_secs(3), rate);
        changes += u32::from(steering.is_held_to_objective() != before);
        before = steering.is_held_to_objective();
    }
    assert!(changes <= 1, "{changes}");
}
