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
use thermocline_table::{Arrived, Config, Deployment, InFlight, Snapshot, Start};

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

/// What a request pays for being found by who lists or cancels requests, and
/// for the question whether somebody watches; on threads that each have a list.
fn in_flight(c: &mut Criterion) {
    let clock = Clock::system();
    let deployment = deployment("model".to_owned(), &clock);
    let in_flight = InFlight::default();
    let arrived = Arrived {
        deployment: &deployment,
        at: Moment::ORIGIN,
        tier: Tier::Pod,
        method: &http::Method::POST,
        path: "/v1/chat/completions",
        request_id: "01JDZ4T4T6Z5V1X0Q8B3W7N2KD",
    };
    let mut group = c.benchmark_group("in flight");
    group.bench_function("enter + leave", |b| {
        b.iter(|| drop(black_box(in_flight.enter(black_box(arrived)))));
    });
    let kept: Vec<_> = (0..10_000).map(|_| in_flight.enter(arrived)).collect();
    group.bench_function("enter + leave beside 10000", |b| {
        b.iter(|| drop(black_box(in_flight.enter(black_box(arrived)))));
    });
    group.bench_function("list 10000", |b| b.iter(|| in_flight.all().len()));
    drop(kept);
    group.bench_function("nobody watches", |b| {
        b.iter(|| black_box(&deployment.tail).wants(black_box(Start::Warm)));
    });
    group.finish();
}

criterion_group!(benches, window, decision, hot_path, in_flight);
criterion_main!(benches);
