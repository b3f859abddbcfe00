//! Every step of provisioning, every kind of fault, and a crash at every point
//! passed while it lasts.

use thermocline_support::backend::Latch;
use thermocline_support::provider::{Boot, Call, Fault, FaultKind};

use thermocline_provider::ProviderErrorKind;

use crate::audit::{Planted, at_any_time, in_the_end};
use crate::world::{World, secs};

/// How long a fault lasts, seconds.
const LASTS: u64 = 8;

#[derive(Clone, Copy, Debug)]
enum Step {
    Create,
    Look,
    WaitReady,
    Publish,
    Drain,
    Delete,
    Confirm,
    Sweep,
}

#[derive(Clone, Copy, Debug)]
enum Trouble {
    Cloud(FaultKind),
    /// F18: the wall clock jumps by so many seconds.
    Clock(i64),
}

fn troubles() -> impl Iterator<Item = Trouble> {
    let cloud = FaultKind::ALL.into_iter().map(Trouble::Cloud);
    cloud.chain([Trouble::Clock(600), Trouble::Clock(-600)])
}

impl Trouble {
    fn begin(self, world: &World) {
        match self {
            Trouble::Cloud(kind) => world.cloud.switch(kind, 100),
            Trouble::Clock(by) => world.jump(by),
        }
    }
}

/// What the step needs to go on once the trouble has begun.
enum Then {
    Wake,
    Sleep,
    Open(Latch),
    Wait,
}

/// Brings the world to just before the step.
fn reach(step: Step, world: &mut World, planted: &mut Planted) -> Then {
    planted.stranger(world);
    world.deploy("m", "toy", 1);
    match step {
        Step::Create => return Then::Wake,
        Step::Look => {
            let lost = Fault::LostReply(ProviderErrorKind::Unavailable);
            world.cloud.fail_next(Call::Create, 1, lost);
            return Then::Wake;
        }
        Step::WaitReady | Step::Publish => {
            world.cloud.set_boot(Boot::After(secs(5)));
            world.wake("m");
            let so_far = if let Step::Publish = step { 4 } else { 1 };
            world.pass(secs(so_far), secs(1));
            return Then::Wait;
        }
        Step::Drain | Step::Delete | Step::Confirm | Step::Sweep => {}
    }
    world.wake("m");
    world.pass(secs(2), secs(1));
    assert!(world.serves("m"), "{step:?} is not reached");
    reach_end_of_life(step, world, planted)
}

fn reach_end_of_life(step: Step, world: &mut World, planted: &mut Planted) -> Then {
    match step {
        Step::Drain => {
            world.request("m", secs(1), secs(4));
            world.settle();
            world.sleep("m");
            Then::Wait
        }
        Step::Confirm => {
            let latch = Latch::new();
            world.cloud.stop_slowly(&latch);
            world.sleep("m");
            world.step(secs(1));
            Then::Open(latch)
        }
        Step::Sweep => {
            planted.leak(world);
            world.pass(secs(29), secs(5));
            Then::Wait
        }
        _ => Then::Sleep,
    }
}

/// One run; how many crash points were passed while the trouble lasted.
fn run(step: Step, trouble: Trouble, crash_at: Option<u64>) -> Result<u64, String> {
    let (mut world, mut planted) = (World::new(), Planted::default());
    let then = reach(step, &mut world, &mut planted);
    trouble.begin(&world);
    let passed = world.fuse.passed();
    if let Some(point) = crash_at {
        world.fuse.arm(point);
    }
    match then {
        Then::Wake => world.wake("m"),
        Then::Sleep => world.sleep("m"),
        Then::Open(latch) => latch.open(),
        Then::Wait => {}
    }
    for _ in 0..LASTS {
        world.step(secs(1));
        at_any_time(&world, &planted, 1)?;
    }
    let points = world.fuse.passed() - passed;
    world.disarm();
    world.cloud.heal();
    world.cloud.set_boot(Boot::AtOnce);
    in_the_end(&mut world, &planted, 1)?;
    Ok(points)
}

fn every_fault_and_crash(step: Step) {
    let (mut runs, mut failed) = (0, Vec::new());
    for trouble in troubles() {
        let mut tell = |crash_at: Option<u64>| {
            let told = std::panic::catch_unwind(|| run(step, trouble, crash_at));
            runs += 1;
            match told.unwrap_or_else(|_| Err("it panicked".to_owned())) {
                Ok(points) => points,
                Err(error) => {
                    failed.push(format!(
                        "{step:?}, {trouble:?}, crash at {crash_at:?}: {error}"
                    ));
                    0
                }
            }
        };
        let points = tell(None);
        for point in 0..points {
            tell(Some(point));
        }
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }
    println!("{step:?}: {runs} runs, 0 orphans, 0 doubles, 0 strangers touched");
}

#[test]
fn a_create_survives_every_fault_and_crash() {
    every_fault_and_crash(Step::Create);
}

#[test]
fn a_second_look_at_a_create_survives_every_fault_and_crash() {
    every_fault_and_crash(Step::Look);
}

#[test]
fn the_wait_until_ready_survives_every_fault_and_crash() {
    every_fault_and_crash(Step::WaitReady);
}

#[test]
fn a_publication_survives_every_fault_and_crash() {
    every_fault_and_crash(Step::Publish);
}

#[test]
fn a_drain_survives_every_fault_and_crash() {
    every_fault_and_crash(Step::Drain);
}

#[test]
fn a_delete_survives_every_fault_and_crash() {
    every_fault_and_crash(Step::Delete);
}

#[test]
fn the_proof_of_absence_survives_every_fault_and_crash() {
    every_fault_and_crash(Step::Confirm);
}

#[test]
fn a_sweep_survives_every_fault_and_crash() {
    every_fault_and_crash(Step::Sweep);
}
