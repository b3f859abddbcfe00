//! A million arrivals under five policies, with the optimum.

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use thermocline_policy::{CostModel, Prices, Thresholds, UsdPerSecond, Work};
use thermocline_simulate::{Arrival, Assumptions, Candidate, Fleet, Generator, Report};

fn million() -> Report {
    let assumptions = Assumptions {
        tiers: Assumptions::both_tiers(),
        objective: None,
        model: CostModel {
            prices: Prices {
                serverless: UsdPerSecond::of(0.000_76),
                pod: UsdPerSecond::hourly(1.39),
                wait: UsdPerSecond::ZERO,
            },
            work: Work::default(),
        },
        thresholds: Thresholds::default(),
        pod_idle: Duration::from_secs(600),
        slot: Duration::from_secs(10),
        seed: 1,
        pod_failures: 0.0,
        in_tokens_per_s: 8000.0,
        s_per_out_token: 0.02,
    };
    let generator: Result<Generator, _> = "on_off:rps=0.5,hours=556".parse();
    let mut fleet = Fleet::new(&Candidate::ALL, &assumptions, 1);
    for at in generator.iter().flat_map(|generator| generator.arrivals(1)) {
        fleet.arrive(Arrival {
            at,
            service: assumptions.model.work.service,
            deployment: 0,
        });
    }
    fleet.finish(&[]).0
}

fn replay(c: &mut Criterion) {
    let mut group = c.benchmark_group("replay");
    group.sample_size(10);
    group.bench_function("a million arrivals, five policies", |b| b.iter(million));
    group.finish();
}

criterion_group!(benches, replay);
criterion_main!(benches);
