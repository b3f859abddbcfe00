//! What must hold of a thousand models, and the figures that say so.

use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_policy::fleet::{Bucket, Eviction};

use crate::catalog::Catalog;
use crate::figures::Figures;
use crate::greedy;
use crate::traffic::{Request, poisson};
use crate::world::{Routing, Setup, World};

/// What is counted begins when the memories have filled.
const HOURS: f64 = 4.0;

pub(crate) fn at(hours: f64) -> Moment {
    Moment::from_origin(Duration::from_secs_f64(hours * 3_600.0))
}

pub(crate) fn setup(catalog: &Catalog, routing: Routing) -> Setup {
    Setup {
        workers: 4,
        memory: catalog.room_for(60),
        permits: 16,
        loads: 4,
        cold: Bucket::new(Duration::from_secs(1), 4),
        eviction: Eviction::default(),
        routing,
    }
}

/// Two requests a second for a thousand models, five of six of which are asked for
/// less than once in ten minutes.
fn long_tail(seed: u64) -> (Catalog, Vec<Request>) {
    let catalog = Catalog::zipf(1_000, 1.0, seed);
    let requests = poisson(&catalog, 2.0, HOURS, 0.2, seed + 1_000);
    (catalog, requests)
}

#[test]
fn pulling_comes_close_to_what_knows_the_popularity_and_loads_half_as_often_as_blind_routing() {
    for seed in seeds() {
        let (catalog, requests) = long_tail(seed);
        let best = greedy::hit_rate(&catalog, catalog.room_for(240), &requests, at(1.0));
        let pulled = World::run(&catalog, setup(&catalog, Routing::Pulling), &requests);
        let blind = World::run(&catalog, setup(&catalog, Routing::RoundRobin), &requests);
        let loads = |figures: &Figures| figures.load_rate(at(1.0), at(HOURS));
        println!(
            "seed {seed}: hit rate {:.4} of {best:.4} ({:.4} blind); loads/s {:.3} ({:.3} blind)",
            pulled.hit_rate(at(1.0)),
            blind.hit_rate(at(1.0)),
            loads(&pulled),
            loads(&blind),
        );
        assert_eq!(
            pulled.answers.len(),
            requests.len(),
            "every request is answered"
        );
        assert!(pulled.hit_rate(at(1.0)) >= 0.95 * best);
        assert!(loads(&pulled) <= 0.5 * loads(&blind));
    }
}

#[test]
fn one_percent_of_cold_traffic_does_not_slow_warm_models_down() {
    const WARM: usize = 200; // what takes four fifths of the memory or more
    for seed in seeds() {
        let catalog = Catalog::zipf(1_000, 1.0, seed).with_cold(WARM, 0.01);
        let requests = poisson(&catalog, 20.0, 1.0, 0.2, seed + 2_000);
        let mut warm = requests.clone();
        warm.retain(|request| request.model < WARM);
        let p99 = |requests: &[Request]| {
            let figures = World::run(&catalog, setup(&catalog, Routing::Pulling), requests);
            assert_eq!(figures.answers.len(), requests.len());
            figures.latency(at(0.4), 0.99, |model| model < WARM)
        };
        let (with, without) = (p99(&requests), p99(&warm));
        println!("seed {seed}: p99 of warm models {with:?} with cold traffic, {without:?} without");
        assert!(with <= without.mul_f64(1.2));
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let (catalog, mut requests) = long_tail(3);
    requests.truncate(2_000);
    let run = || World::run(&catalog, setup(&catalog, Routing::Pulling), &requests).loads;
    assert_eq!(run(), run());
}

/// The rules were tuned on seeds 1 and 2; this is another.
fn seeds() -> Vec<u64> {
    let chosen = std::env::var("THERMOCLINE_TEST_SEED").ok();
    chosen.map_or_else(|| vec![11], |seed| vec![seed.parse().unwrap()])
}
