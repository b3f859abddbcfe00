//! Whatever is replayed, nothing that was tried beats the optimum.
#![allow(clippy::unwrap_used)] // the helpers too are tests

use std::time::Duration;

use proptest::prelude::*;
use thermocline_policy::{CostModel, Moment, Prices, Thresholds, UsdPerSecond, Work};
use thermocline_simulate::{Arrival, Assumptions, Candidate, Fleet, Report};

fn assumptions(model: CostModel) -> Assumptions {
    Assumptions {
        tiers: Assumptions::both_tiers(),
        objective: None,
        model,
        thresholds: Thresholds::default(),
        pod_idle: Duration::from_secs(600),
        slot: Duration::from_secs(10),
        seed: 1,
        pod_failures: 0.0,
        in_tokens_per_s: 8000.0,
        s_per_out_token: 0.02,
    }
}

/// Gaps in milliseconds, made arrivals of two deployments in turn.
fn replayed(assumptions: &Assumptions, gaps: &[u64]) -> Report {
    let mut fleet = Fleet::new(&Candidate::ALL, assumptions, 2);
    let mut now = Duration::ZERO;
    for (i, gap) in gaps.iter().enumerate() {
        now += Duration::from_millis(*gap);
        fleet.arrive(Arrival {
            at: Moment::from_origin(now),
            service: assumptions.model.work.service,
            deployment: i % 2,
        });
    }
    fleet.finish(&["a".to_owned(), "b".to_owned()]).0
}

/// Bursts, steady traffic and silence.
fn gaps() -> impl Strategy<Value = Vec<u64>> {
    let stretch = prop_oneof![
        prop::collection::vec(0u64..200, 1..80),
        prop::collection::vec(500u64..20_000, 1..40),
        prop::collection::vec(60_000u64..4_000_000, 1..4),
    ];
    prop::collection::vec(stretch, 1..6).prop_map(|stretches| stretches.concat())
}

fn model() -> impl Strategy<Value = CostModel> {
    let prices = (
        0.0f64..0.002,
        0.0f64..4.0,
        prop_oneof![Just(0.0), 0.0f64..0.01],
    );
    let times = (0u64..20, 0u64..60, 0u64..300, 0u64..60, 0u64..20);
    (prices, times, 0.0f64..=1.0, 1u32..20).prop_map(|(prices, times, share, concurrency)| {
        let seconds = Duration::from_secs;
        CostModel {
            prices: Prices {
                serverless: UsdPerSecond::of(prices.0),
                pod: UsdPerSecond::hourly(prices.1),
                wait: UsdPerSecond::of(prices.2).unwrap(),
            },
            work: Work {
                service: seconds(times.0),
                service_on_pod: seconds(times.4),
                cold_start: seconds(times.1),
                billed_cold_share: share,
                boot: seconds(times.2),
                serverless_idle: seconds(times.3),
                concurrency,
            },
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_policy_is_cheaper(
        model in model(),
        gaps in gaps(),
        slot in 1u64..=3600,
        failures in prop_oneof![Just(0.0), Just(1.0), 0.0f64..=1.0],
    ) {
        let assumptions = Assumptions {
            slot: Duration::from_secs(slot),
            pod_failures: failures,
            ..assumptions(model)
        };
        let report = replayed(&assumptions, &gaps);
        for policy in &report.policies {
            let least = report.optimum.cost_usd.unwrap();
            prop_assert!(policy.cost_usd.unwrap() >= least - 1e-6, "{policy:?}");
            prop_assert!(policy.cost_over_optimum.is_none_or(|ratio| ratio >= 1.0), "{policy:?}");
        }
    }
}
