//! No mode moves back and forth.

use std::time::Duration;

use proptest::prelude::*;
use thermocline_policy::{BreakEven, Reason, Tier, UsdPerSecond};
use thermocline_simulate::{Arrival, Assumptions, Candidate, Fleet, Generator, Run};

use crate::{assumptions, at};

const SERVICE: Duration = Duration::from_secs(3);

/// Changes of tier after the first decision.
fn moves(run: &Run) -> Vec<(Tier, Reason)> {
    let switches = run.switches().iter().skip(1);
    switches.map(|switch| (switch.to, switch.reason)).collect()
}

fn break_even_rate(assumptions: &Assumptions) -> f64 {
    match assumptions.model.break_even() {
        BreakEven::At(rate) => rate.as_per_second(),
        other => panic!("{other:?}"),
    }
}

/// Arrivals from `from` to `to` seconds, `rps` a second, evenly.
fn evenly(run: &mut Run, from: f64, to: f64, rps: f64) {
    for i in 0..((to - from) * rps) as u32 {
        run.arrive(at(from + f64::from(i) / rps), SERVICE);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Between half of λ* and twice λ*, whatever the start; the window holds 16
    /// arrivals at λ*, and so tells rates apart to an arrival and a bucket's edge.
    #[test]
    fn break_even_stays_at_a_constant_rate_between_its_thresholds(
        share in 0.6f64..1.9, burst in 0u32..200, wait in prop::sample::select(vec![0.0, 0.0002]),
    ) {
        let assumptions = assumptions(wait);
        let mut run = Run::new("break_even".parse().unwrap(), &assumptions);
        for i in 0..burst {
            run.arrive(at(f64::from(i) * 0.05), SERVICE);
        }
        let rps = break_even_rate(&assumptions) * share;
        evenly(&mut run, 20.0, 30_000.0, rps);
        let settled = run.switches().iter().all(|switch| switch.at < at(2_000.0));
        prop_assert!(settled, "{:?}", run.switches());
    }

    /// At any constant rate there is a better tier; it is found at most once.
    #[test]
    fn regret_moves_at_most_once_at_a_constant_rate(rps in 0.01f64..3.0, wait in 0.0f64..0.01) {
        let mut run = Run::new(Candidate::Regret, &assumptions(wait));
        evenly(&mut run, 0.0, 20_000.0, rps);
        prop_assert!(moves(&run).len() <= 1, "{:?}", moves(&run));
    }

    /// One burst: at most one promotion and one demotion.
    #[test]
    fn one_burst_votes_once(
        size in 1u32..2_000, within in 1f64..300.0, wait in 0.0f64..0.01,
        policy in prop::sample::select(Candidate::ALL.to_vec()),
    ) {
        let mut run = Run::new(policy, &assumptions(wait));
        for i in 0..size {
            run.arrive(at(f64::from(i) * within / f64::from(size)), SERVICE);
        }
        run.advance_to(at(20_000.0));
        let tiers: Vec<Tier> = moves(&run).into_iter().map(|(tier, _)| tier).collect();
        let allowed: [&[Tier]; 3] = [&[], &[Tier::Pod], &[Tier::Pod, Tier::Serverless]];
        prop_assert!(policy == Candidate::Always(Tier::Pod) || allowed.contains(&&tiers[..]), "{tiers:?}");
    }
}

/// A pod that was promoted and stopped idle within one slot has spent what had
/// gathered for it.
#[test]
fn after_an_idle_stop_regret_gathers_anew() {
    let mut assumptions = assumptions(0.0);
    let model = &mut assumptions.model;
    // β = 2 s · $0.001/s = $0.002: a pod stays for 2 s without work, too.
    model.prices.serverless = UsdPerSecond::of(0.01);
    model.prices.pod = UsdPerSecond::of(0.001);
    model.work.cold_start = Duration::ZERO;
    model.work.boot = Duration::from_secs(2);
    let mut run = Run::new(Candidate::Regret, &assumptions);
    for second in 0..5 {
        run.arrive(at(f64::from(second)), Duration::from_millis(100));
    }
    let mut asks = |now| {
        let decision = run.arrive(at(now), Duration::from_millis(100));
        (decision.tier, decision.reason)
    };
    assert_eq!(asks(10.5), (Tier::Pod, Reason::Promote));
    // Ready at 12.5 s, stopped as idle two seconds later.
    assert_eq!(asks(17.0), (Tier::Serverless, Reason::BelowPromote));
    // Two requests, each with 5 s of a worker, are worth a boot again.
    assert_eq!(asks(20.5), (Tier::Pod, Reason::Promote));
}

#[test]
fn sparse_traffic_promotes_nothing() {
    let generator: Generator = "rare:hours=240".parse().unwrap();
    for wait in [0.0, 0.0002] {
        let assumptions = assumptions(wait);
        let mut run = Run::new("break_even".parse().unwrap(), &assumptions);
        for now in generator.arrivals(3) {
            run.arrive(now, SERVICE);
        }
        assert_eq!(moves(&run), []);
    }
}

/// Prices that leave nothing to decide: each has its documented answer.
#[test]
fn prices_of_zero_and_dear_pods_are_lived_with() {
    let generator: Generator = "poisson:rps=0.5,hours=3".parse().unwrap();
    let hours = |serverless: f64, pod: f64, policy: Candidate| {
        let mut assumptions = assumptions(0.0);
        assumptions.model.prices.serverless = UsdPerSecond::of(serverless);
        assumptions.model.prices.pod = UsdPerSecond::hourly(pod);
        let mut fleet = Fleet::new(&[policy], &assumptions, 1);
        for now in generator.arrivals(1) {
            fleet.arrive(Arrival {
                at: now,
                service: SERVICE,
                deployment: 0,
            });
        }
        let (report, _) = fleet.finish(&[]);
        assert!(report.policies[0].cost_usd.unwrap().is_finite());
        report.policies[0].pod_hours
    };
    for policy in ["break_even", "regret"] {
        let policy: Candidate = policy.parse().unwrap();
        assert_eq!(hours(0.0, 1.0, policy), 0.0, "{policy}: serverless is free");
        assert_eq!(
            hours(0.001, 3.6, policy),
            0.0,
            "{policy}: a pod costs as much as a worker"
        );
        assert_eq!(hours(0.001, 7.2, policy), 0.0, "{policy}: a pod costs more");
        assert!(hours(0.001, 0.0, policy) > 2.5, "{policy}: a pod is free");
    }
}

/// Provider without capacity: serverless goes on, attempts back off.
#[test]
fn without_capacity_serverless_serves_all() {
    let mut assumptions = assumptions(0.0);
    assumptions.pod_failures = 1.0;
    for policy in ["thresholds", "break_even", "regret"] {
        let mut run = Run::new(policy.parse().unwrap(), &assumptions);
        evenly(&mut run, 0.0, 3_000.0, 1.0);
        let moves = moves(&run);
        let promotions = moves.iter().filter(|(tier, _)| *tier == Tier::Pod).count();
        assert!((1..=30).contains(&promotions), "{policy}: {promotions}");
        assert!(
            moves
                .iter()
                .any(|(_, reason)| *reason == Reason::NoCapacity),
            "{policy}"
        );
    }
}
