//! Ten thousand schedules: requests, edits, faults, crashes and time, mixed by a
//! seed. One that fails prints its seed; `THERMOCLINE_TEST_SEED=N` runs it alone.

use std::time::Duration;

use http::Method;
use serde_json::json;
use thermocline_support::provider::{Boot, FaultKind};

use crate::audit::{Planted, at_any_time, in_the_end};
use crate::chance::{Chance, given_seed};
use crate::world::{World, secs};

/// How many schedules each of the tests runs.
const EACH: u64 = 625;
/// Failures after which a test gives up.
const MOST_FAILURES: usize = 4;
/// Instances that the deployment may have.
const MOST: usize = 1;

/// One schedule from its seed to the end.
fn run(seed: u64) -> Result<u32, String> {
    let mut chance = Chance::of(seed);
    let mut world = World::new();
    let mut planted = Planted::default();
    world.cloud.set_seed(chance.seed());
    planted.stranger(&world);
    world.deploy("m", "toy", MOST as u32);
    let boot = chance.one_of(&[Boot::AtOnce, Boot::After(secs(3)), Boot::After(secs(30))]);
    world.cloud.set_boot(boot);
    for _ in 0..10 + chance.below(20) {
        act(&mut world, &mut chance, &mut planted);
        at_any_time(&world, &planted, MOST)?;
    }
    world.disarm();
    world.cloud.heal();
    world.cloud.set_boot(Boot::After(secs(3)));
    in_the_end(&mut world, &planted, MOST)?;
    Ok(world.crashes)
}

/// One thing that may happen.
fn act(world: &mut World, chance: &mut Chance, planted: &mut Planted) {
    let what = chance.below(20);
    if given_seed().is_some() {
        println!("{:?}: act {what}", world.elapsed());
    }
    match what {
        0..=5 => {
            let steps = [100, 500, 1_000, 1_000, 2_000, 5_000, 5_000, 31_000];
            world.step(Duration::from_millis(chance.one_of(&steps)));
        }
        6..=8 => {
            let kind = chance.one_of(&FaultKind::ALL);
            world.cloud.switch(kind, chance.one_of(&[20, 50, 100]));
        }
        9 => world.cloud.heal(),
        10 => world.crash(secs(chance.below(8))),
        11..=12 => world.fuse.arm(chance.below(25)),
        13..=14 => world.request("m", secs(30), secs(chance.below(20))),
        15 => world.wake("m"),
        16 => world.sleep("m"),
        17 => {
            let image = json!({ "image": format!("i:{}", chance.below(3)) });
            world.admin(Method::PATCH, "/deployments/m", Some(image));
        }
        18 => match chance.below(3) {
            0 => planted.leak(world),
            1 => world.jump(600),
            _ => world.jump(-600),
        },
        _ => match chance.below(3) {
            0 => drop(world.admin(Method::DELETE, "/deployments/m", None)),
            _ => world.deploy("m", "toy", MOST as u32),
        },
    }
}

/// The schedules of one test; a failure is told with its seed.
fn run_all(first: u64) {
    if let Some(seed) = given_seed() {
        if (first..first + EACH).contains(&seed) {
            run(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
        return;
    }
    let (mut crashes, mut failed) = (0, Vec::new());
    for seed in first..first + EACH {
        let told = std::panic::catch_unwind(|| run(seed));
        match told.unwrap_or_else(|_| Err("it panicked".to_owned())) {
            Ok(more) => crashes += more,
            Err(error) => failed.push(format!("THERMOCLINE_TEST_SEED={seed}: {error}")),
        }
        assert!(failed.len() < MOST_FAILURES, "{}", failed.join("\n"));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    println!("{EACH} schedules from seed {first}: {crashes} crashes, 0 orphans, 0 doubles");
}

macro_rules! schedules {
    ($($name:ident = $part:expr;)*) => {
        $(#[test]
        fn $name() {
            run_all($part * EACH);
        })*
    };
}

schedules! {
    schedules_1_of_16 = 0;
    schedules_2_of_16 = 1;
    schedules_3_of_16 = 2;
    schedules_4_of_16 = 3;
    schedules_5_of_16 = 4;
    schedules_6_of_16 = 5;
    schedules_7_of_16 = 6;
    schedules_8_of_16 = 7;
    schedules_9_of_16 = 8;
    schedules_10_of_16 = 9;
    schedules_11_of_16 = 10;
    schedules_12_of_16 = 11;
    schedules_13_of_16 = 12;
    schedules_14_of_16 = 13;
    schedules_15_of_16 = 14;
    schedules_16_of_16 = 15;
}
