//! What a warm request pays for being looked up, counted and decided on.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use thermocline_clock::Clock;
use thermocline_policy::{
    DedicatedTier, Defaults, LocalFit, Moment, PodState, Spec, Thresholds, Tier, TierMap, TierSet,
    View, Window, decide,
};
use thermocline_table::{Config, Deployment, Snapshot};

fn deployment(name: String, clock: &Clock) -> Arc<Deployment> {
    let mut spec = Spec::named(name);
    spec.tiers.dedicated = Some(DedicatedTier {
        url: "http://127.0.0.1:1".to_owned(),
        host: None,
    });
    spec.routes.hosts = vec![format!("{}.example.com", spec.name)];
    let config = Config {
        settings: spec.settings(&Defaults::default()),
        spec,
        generation: 1,
        stopped: false,
        deleting: false,
        forced: None,
        ignore: regex::RegexSet::empty(),
    };
    Arc::new(Deployment::new(config, None, clock.clone()))
}

fn window(c: &mut Criterion) {
    let window = Window::new(Duration::from_secs(300), Moment::ORIGIN);
    let mut now = Moment::ORIGIN;
    c.bench_function("window: record + read", |b| {
        b.iter(|| {
            now = now + Duration::from_micros(900);
            black_box(window.record(black_box(now)))
        });
    });
}

fn decision(c: &mut Criterion) {
    let view = View {
        tiers: TierSet::EMPTY.with(Tier::Serverless).with(Tier::Pod),
        forced: None,
        current: Some(Tier::Serverless),
        local: LocalFit::NoMemory,
        pod: PodState::Warm,
        pod_pinned: false,
        pod_in_flight: 3,
        count: 420,
        observed: true,
        since_transition: Some(Duration::from_secs(9)),
        thresholds: Thresholds::default(),
        brakes: TierMap::default(),
    };
    c.bench_function("decide", |b| b.iter(|| decide(black_box(&view))));
}

/// Look-up by name and by host, then record and decide, over random deployments.
fn hot_path(c: &mut Criterion) {
    let clock = Clock::system();
    for count in [1usize, 1_000, 100_000] {
        let names: Vec<String> = (0..count).map(|i| format!("model-{i}")).collect();
        let all = names.iter().map(|name| deployment(name.clone(), &clock));
        let snapshot = Snapshot::of(all, "models.example");
        let hosts: Vec<String> = names
            .iter()
            .map(|n| format!("{n}.example.com:8080"))
            .collect();
        let mut turn = 0usize;
        let mut next = move || {
            turn = turn
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (turn >> 33) % count
        };
        let mut group = c.benchmark_group("deployments");
        group.bench_function(BenchmarkId::new("identify by name", count), |b| {
            b.iter(|| snapshot.by_name(black_box(&names[next()])).is_some());
        });
        group.bench_function(BenchmarkId::new("identify by host", count), |b| {
            b.iter(|| snapshot.by_host(black_box(&hosts[next()])).is_some());
        });
        group.bench_function(BenchmarkId::new("identify + record + decide", count), |b| {
            b.iter(|| {
                let now = clock.now();
                let deployment = snapshot.by_name(black_box(&names[next()]));
                deployment.map(|deployment| {
                    deployment.record(now);
                    deployment.decide(now)
                })
            });
        });
        group.finish();
    }
}

criterion_group!(benches, window, decision, hot_path);
criterion_main!(benches);
