//! What the enumeration cannot see: rules that show when a process stands still,
//! ends in order, or meets a provider that lists too little.

use thermocline_policy::InstanceState;
use thermocline_support::backend::Latch;
use thermocline_support::provider::{Boot, Call, Fault};

use crate::world::{World, secs};

fn up(names: &[&str]) -> World {
    let mut world = World::new();
    for name in names {
        world.deploy(name, "toy", 1);
        world.wake(name);
    }
    world.pass(secs(2), secs(1));
    assert!(names.iter().all(|name| world.serves(name)));
    world
}

/// Stopped in a create for longer than anybody waits: what it then writes is
/// stale, and dropped.
#[test]
fn a_process_that_stood_still_overwrites_nothing() {
    let mut world = World::new();
    world.deploy("m", "toy", 1);
    let latch = Latch::new();
    world.cloud.hold(Call::Create, &latch);
    world.wake("m");
    let frozen = world.freeze();
    latch.open();
    world.settle();
    let before = world.rows();
    assert!(before[0].state.is_ready(), "{before:?}");
    world.thaw(frozen);
    assert_eq!(world.rows(), before);
    assert!(world.serves("m"));
    assert_eq!(world.cloud.truth().live.len(), 1);
}

/// The late create makes again what is long deleted: the sweep finds it.
#[test]
fn a_create_that_takes_effect_after_its_end_is_an_orphan_and_goes() {
    let mut world = World::new();
    world.deploy("m", "toy", 1);
    let latch = Latch::new();
    world.cloud.hold(Call::Create, &latch);
    world.wake("m");
    let frozen = world.freeze();
    world.sleep("m");
    // Its create is asked for again first, and waits too: nothing was made.
    world.pass(secs(240), secs(10));
    assert!(world.rows().is_empty(), "{:?}", world.rows());
    latch.open();
    world.thaw(frozen);
    assert_eq!(world.cloud.truth().live.len(), 1, "it comes late");
    world.pass(secs(60), secs(5));
    assert!(world.cloud.truth().live.is_empty());
}

#[test]
fn a_shutdown_leaves_instances_running_and_finds_them_again() {
    let mut world = up(&["a", "b"]);
    let before = world.cloud.truth().live;
    world.restart();
    assert!(world.serves("a") && world.serves("b"));
    world.pass(secs(60), secs(5));
    let truth = world.cloud.truth();
    assert_eq!(truth.live, before);
    assert_eq!((truth.created, truth.count(Call::Delete)), (2, 0));
}

/// What a key for another account would see: nothing at all, and no error.
#[test]
fn a_suddenly_shrunken_list_is_no_information_and_told_of() {
    let mut world = up(&["a", "b", "c", "d"]);
    let over = Latch::new();
    world.pass(secs(6), secs(1));
    world.cloud.fail_until(Call::List, &over, Fault::Blind);
    world.cloud.fail_until(Call::Get, &over, Fault::Blind);
    world.pass(secs(240), secs(5));
    let rows = world.rows();
    assert!(rows.iter().all(|row| row.state.is_ready()), "{rows:?}");
    let told = world.told();
    let alarms = told.iter().filter(|kind| *kind == "provider.shrunken");
    assert_eq!(alarms.count(), 1);
    over.open();
    world.pass(secs(20), secs(5));
    let truth = world.cloud.truth();
    assert_eq!((truth.created, truth.count(Call::Delete)), (4, 0));
}

/// Its address is another's now: nothing is sent to it any more.
#[test]
fn an_address_that_another_instance_has_now_is_taken_from_the_old_one() {
    use thermocline_support::provider::FaultKind;
    let mut world = up(&["a"]);
    world.cloud.switch(FaultKind::ReusedAddress, 100);
    world.cloud.set_boot(Boot::AtOnce);
    let old = world.rows()[0].clone();
    let InstanceState::Ready { provider_id } = &old.state else {
        panic!("{old:?}");
    };
    world.run(world.cloud.vanish(provider_id));
    world.deploy("b", "toy", 1);
    world.wake("b");
    world.step(secs(1));
    assert!(world.serves("b"));
    assert!(!world.serves("a"), "requests for a would reach b");
}
