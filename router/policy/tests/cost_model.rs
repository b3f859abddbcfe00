//! The formulas against a simulation that knows none of them.
#![allow(clippy::unwrap_used)] // the helpers too are tests

use std::time::Duration;

use proptest::prelude::*;
use thermocline_policy::{BreakEven, CostModel, Prices, Rate, Tier, UsdPerSecond, Work};

/// Numbers between 0 and 1 from a fixed sequence (Lehmer, 2^31 − 1).
struct Numbers(u64);

impl Numbers {
    fn unit(&mut self) -> f64 {
        self.0 = self.0 * 48_271 % 2_147_483_647;
        self.0 as f64 / 2_147_483_647.0
    }

    fn exponential(&mut self, rate: f64) -> f64 {
        -self.unit().ln() / rate
    }
}

/// One worker: when it is up, until when it is billed, who has its places until when.
struct Machine {
    up: f64,
    until: f64,
    ends: Vec<f64>,
}

/// Dollars a second of `arrivals` Poisson arrivals on serverless.
fn simulated(model: &CostModel, rate: f64, arrivals: u32) -> f64 {
    let (mut now, mut numbers) = (0.0, Numbers(20_261_130));
    let all = (0..arrivals).map(|_| {
        now += numbers.exponential(rate);
        now
    });
    let all: Vec<f64> = all.collect();
    spent(model, all.iter().copied()) / now
}

/// Dollars for `arrivals`, seconds, on serverless, one event after the other.
fn spent(model: &CostModel, arrivals: impl Iterator<Item = f64>) -> f64 {
    let work = &model.work;
    let (service, idle) = (
        work.service.as_secs_f64(),
        work.serverless_idle.as_secs_f64(),
    );
    let cold = work.cold_start.as_secs_f64();
    let (mut billed, mut waited) = (0.0, 0.0);
    let mut machines: Vec<Machine> = Vec::new();
    for now in arrivals {
        machines.retain(|m| m.until > now);
        machines
            .iter_mut()
            .for_each(|m| m.ends.retain(|end| *end > now));
        let places = work.concurrency as usize;
        let free = machines.iter().position(|m| m.ends.len() < places);
        let chosen = free.unwrap_or_else(|| {
            billed += cold * work.billed_cold_share;
            let up = now + cold;
            machines.push(Machine {
                up,
                until: up,
                ends: Vec::new(),
            });
            machines.len() - 1
        });
        let machine = &mut machines[chosen];
        let end = now.max(machine.up) + service;
        waited += machine.up.max(now) - now;
        billed += (end + idle - machine.until).max(0.0);
        machine.until = machine.until.max(end + idle);
        machine.ends.push(end);
    }
    let price = model.prices.serverless.unwrap().as_usd();
    billed * price + waited * model.prices.wait.as_usd()
}

fn model(concurrency: u32, wait: f64) -> CostModel {
    CostModel {
        prices: Prices {
            serverless: UsdPerSecond::of(0.000_76),
            pod: UsdPerSecond::hourly(1.39),
            wait: UsdPerSecond::of(wait).unwrap(),
        },
        work: Work {
            concurrency,
            ..Work::default()
        },
    }
}

fn assert_close(model: &CostModel, rate: f64, within: f64) {
    let formula = model.serverless(Rate::per_second(rate).unwrap()).unwrap();
    let truth = simulated(model, rate, 400_000);
    let off = formula.as_usd() / truth - 1.0;
    assert!(
        off.abs() < within,
        "{:.1} % off at {rate} with {:?}",
        off * 100.0,
        model.work
    );
}

#[test]
fn batching_workers_cost_what_a_simulation_says() {
    for wait in [0.0, 0.005] {
        for share in [1.0, 0.0] {
            for (places, rates) in [(64, 1.0), (16, 0.4)] {
                let mut model = model(places, wait);
                model.work.billed_cold_share = share;
                for part in [0.01, 0.03, 0.1, 0.3, 0.6] {
                    assert_close(&model, rates * part, 0.02);
                }
            }
        }
    }
}

#[test]
fn workers_of_one_place_cost_what_a_simulation_says() {
    let mut model = model(1, 0.0);
    for (service, idle, cold) in [(3.0, 5.0, 1.0), (20.0, 5.0, 2.0), (8.0, 1.0, 0.5)] {
        model.work.service = Duration::from_secs_f64(service);
        model.work.service_on_pod = model.work.service;
        model.work.serverless_idle = Duration::from_secs_f64(idle);
        model.work.cold_start = Duration::from_secs_f64(cold);
        for load in [0.02, 0.1, 0.3] {
            assert_close(&model, load / (service + idle), 0.02);
        }
    }
}

/// One pod, and serverless behind it, event by event; dollars a second.
fn simulated_on_a_pod(model: &CostModel, rate: f64, arrivals: u32) -> f64 {
    let work = &model.work;
    let on_pod = work.service_on_pod.as_secs_f64();
    let (mut now, mut ends) = (0.0, Vec::new());
    let mut numbers = Numbers(20_261_130);
    let mut spilt = Vec::new();
    for _ in 0..arrivals {
        now += numbers.exponential(rate);
        ends.retain(|end| *end > now);
        match ends.len() < work.concurrency as usize {
            true => ends.push(now + on_pod),
            false => spilt.push(now),
        }
    }
    let pod = model.prices.pod.unwrap().as_usd();
    pod + spent(model, spilt.into_iter()) / now
}

/// How long a pod works is its own: four times as fast as serverless, or as slow.
#[test]
fn a_pod_takes_what_its_own_service_time_leaves_room_for() {
    for (service, on_pod) in [(3.0, 3.0), (12.0, 3.0), (3.0, 12.0)] {
        let mut model = model(16, 0.0);
        model.work.service = Duration::from_secs_f64(service);
        model.work.service_on_pod = Duration::from_secs_f64(on_pod);
        for (load, most) in [(0.3, 1.01), (0.69, 1.3)] {
            let rate = load * 16.0 / on_pod;
            let formula = model.pod(Rate::per_second(rate).unwrap()).unwrap();
            let truth = simulated_on_a_pod(&model, rate, 200_000);
            let off = formula.as_usd() / truth;
            assert!((0.99..most).contains(&off), "{off} at {load}, {on_pod} s");
        }
    }
}

#[test]
fn without_cold_starts_the_break_even_is_minus_ln_of_one_less_u_over_d() {
    let mut model = model(1_000, 0.0);
    model.work.cold_start = Duration::ZERO;
    let u = model.prices.pod.unwrap().as_usd() / model.prices.serverless.unwrap().as_usd();
    let expected = -(1.0 - u).ln() / 8.0;
    let BreakEven::At(rate) = model.break_even() else {
        panic!("{:?}", model.break_even());
    };
    assert!((rate.as_per_second() / expected - 1.0).abs() < 1e-6);
}

#[test]
fn at_the_break_even_both_tiers_cost_the_same_in_a_simulation() {
    for wait in [0.0, 0.001, 0.005] {
        let model = model(16, wait);
        let BreakEven::At(rate) = model.break_even() else {
            panic!("{:?}", model.break_even());
        };
        let serverless = simulated(&model, rate.as_per_second(), 400_000);
        let pod = model.pod(rate).unwrap().as_usd();
        assert!((serverless / pod - 1.0).abs() < 0.02, "{serverless} {pod}");
    }
}

#[test]
fn prices_of_zero_and_no_price_have_their_answers() {
    let with = |serverless: Option<f64>, pod: Option<f64>, wait: f64| {
        let mut model = model(16, wait);
        model.prices.serverless = serverless.and_then(UsdPerSecond::of);
        model.prices.pod = pod.and_then(UsdPerSecond::of);
        model.break_even()
    };
    let price = Some(0.001);
    assert_eq!(with(price, Some(0.0), 0.0), BreakEven::Always);
    assert_eq!(with(Some(0.0), Some(0.0), 0.0), BreakEven::Never);
    assert_eq!(with(Some(0.0), Some(0.0), 0.005), BreakEven::Always);
    assert_eq!(with(Some(0.0), price, 0.0), BreakEven::Never);
    assert_eq!(
        with(None, price, 0.0),
        BreakEven::Unpriced(Tier::Serverless)
    );
    assert_eq!(with(price, None, 0.0), BreakEven::Unpriced(Tier::Pod));
    assert_eq!(with(price, price, 0.0), BreakEven::Never, "u* = 1");
    assert_eq!(with(price, Some(0.002), 0.0), BreakEven::Never, "u* = 2");
}

proptest! {
    #[test]
    fn every_price_has_an_answer_and_no_number_is_lost(
        serverless in 0.0f64..1.0, pod in 0.0f64..1.0, wait in 0.0f64..1.0,
        service in 0u64..7200, cold in 0u64..3600, idle in 0u64..3600,
        concurrency in 0u32..4096, share in 0.0f64..1.0, rate in 0.0f64..1e6,
    ) {
        let model = CostModel {
            prices: Prices {
                serverless: UsdPerSecond::of(serverless),
                pod: UsdPerSecond::of(pod),
                wait: UsdPerSecond::of(wait).unwrap(),
            },
            work: Work {
                service: Duration::from_secs(service),
                service_on_pod: Duration::from_secs(service),
                cold_start: Duration::from_secs(cold),
                serverless_idle: Duration::from_secs(idle),
                billed_cold_share: share,
                concurrency,
                ..Work::default()
            },
        };
        let rate = Rate::per_second(rate).unwrap();
        prop_assert!(model.serverless(rate).is_some() && model.pod(rate).is_some());
        prop_assert!((0.0..=1.0).contains(&model.waiting_share(rate)));
        if let BreakEven::At(rate) = model.break_even() {
            prop_assert!(model.serverless(rate) >= model.pod(rate));
        }
    }
}
