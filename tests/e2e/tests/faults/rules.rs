//! What the enumeration cannot see: rules that show when a process stands still,
//! ends in order, or meets a provider that lists too little.

use http::Method;
use thermocline_policy::InstanceState;
use thermocline_provider::ProviderErrorKind;
use thermocline_support::backend::Latch;
use thermocline_support::provider::{Boot, Call, Fault, FaultKind};

use crate::audit::{Planted, at_any_time};
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

#[test]
fn two_providers_of_one_account_leave_each_other_s_instances_alone() {
    let mut world = World::with_twin();
    for (name, provider) in [("m", "toy"), ("n", "twin")] {
        world.deploy(name, provider, 1);
        world.wake(name);
    }
    world.pass(secs(240), secs(2));
    assert!(world.serves("m") && world.serves("n"));
    assert_eq!(world.cloud.truth().created, 2);
    assert!(!world.told().iter().any(|kind| kind == "orphan.deleted"));
    world.sleep("m");
    world.sleep("n");
    world.pass(secs(60), secs(2));
    assert!(world.cloud.truth().live.is_empty());
}

#[test]
fn what_one_of_two_providers_of_an_account_deletes_the_other_does_not_miss() {
    let mut world = World::with_twin();
    let all = [("a", "toy"), ("b", "toy"), ("c", "toy"), ("n", "twin")];
    for (name, provider) in all {
        world.deploy(name, provider, 1);
        world.wake(name);
    }
    world.pass(secs(60), secs(2));
    assert_eq!(world.cloud.truth().live.len(), 4);
    for (name, _) in all {
        world.admin(Method::DELETE, &format!("/deployments/{name}"), None);
    }
    world.pass(secs(60), secs(1));
    assert!(world.cloud.truth().live.is_empty() && world.rows().is_empty());
    assert!(!world.told().iter().any(|kind| kind == "provider.shrunken"));
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
    world.go_on();
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

/// Seconds pass, at each of which everything that exists is written down, until
/// nothing is there any more.
fn goes_without_being_forgotten(mut world: World) {
    let planted = Planted::default();
    assert_eq!(world.cloud.truth().live.len(), 1);
    for _ in 0..90 {
        world.step(secs(1));
        at_any_time(&world, &planted, 1).unwrap();
    }
    assert!(world.cloud.truth().live.is_empty());
    assert!(world.rows().is_empty());
    let told = world.told();
    assert!(!told.iter().any(|kind| kind == "orphan.deleted"));
}

#[test]
fn an_instance_without_an_answer_and_not_yet_listed_is_not_forgotten() {
    let mut world = World::new();
    world.deploy("m", "toy", 1);
    let lost = Fault::LostReply(ProviderErrorKind::Unavailable);
    world.cloud.fail_until(Call::Create, &Latch::new(), lost);
    world.cloud.switch(FaultKind::UnlistedYoung, 100);
    world.wake("m");
    world.sleep("m");
    goes_without_being_forgotten(world);
}

#[test]
fn a_young_instance_that_no_call_knows_is_not_forgotten() {
    let mut world = World::new();
    world.deploy("m", "toy", 1);
    for kind in [
        FaultKind::UnlistedYoung,
        FaultKind::UnknownYoung,
        FaultKind::UndeletableYoung,
    ] {
        world.cloud.switch(kind, 100);
    }
    world.wake("m");
    world.sleep("m");
    goes_without_being_forgotten(world);
}

/// Its delete is accepted by a part of the cloud that knows it, and comes to
/// nothing, while those that are asked for it do not know it yet.
#[test]
fn an_accepted_delete_is_no_proof_for_what_was_never_seen() {
    let mut world = World::new();
    world.deploy("m", "toy", 1);
    for kind in [
        FaultKind::UnlistedYoung,
        FaultKind::UnknownYoung,
        FaultKind::DeafDelete,
    ] {
        world.cloud.switch(kind, 100);
    }
    world.wake("m");
    world.sleep("m");
    world.pass(secs(15), secs(1));
    assert_eq!(world.rows().len(), 1, "nothing has proven that it is gone");
    world.cloud.switch(FaultKind::DeafDelete, 0);
    goes_without_being_forgotten(world);
}

#[test]
fn an_instance_that_vanished_is_replaced() {
    let mut world = up(&["a"]);
    let before = world.rows()[0].id.clone();
    world.cloud.switch(FaultKind::Vanishes, 100);
    world.pass(secs(20), secs(1));
    world.wake("a");
    world.pass(secs(5), secs(1));
    let live = world.cloud.truth().live;
    assert_eq!(live.len(), 1);
    assert_ne!(live[0].key, before);
    assert_eq!(world.backends("a")[0].0, live[0].key);
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

/// What an operator is told of the provider.
fn trouble(world: &mut World) -> String {
    let (_, told) = world.admin(Method::GET, "/providers", None).unwrap();
    told["items"][0]["last_error"].to_string()
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
    assert!(trouble(&mut world).contains("4 of 4 instances"));
    over.open();
    world.pass(secs(20), secs(5));
    assert_eq!(trouble(&mut world), "null");
    let truth = world.cloud.truth();
    assert_eq!((truth.created, truth.count(Call::Delete)), (4, 0));
}

/// One is few enough to be missing from a list that is believed; but this one is
/// not gone, so what else the list lacks is not believed to be gone either.
#[test]
fn a_list_without_what_its_provider_still_knows_is_no_information() {
    let mut world = up(&["a"]);
    world.deploy("b", "toy", 1);
    world.pass(secs(60), secs(5));
    let lost = Fault::LostReply(ProviderErrorKind::Unavailable);
    world.cloud.fail_next(Call::Create, 1, lost);
    let over = Latch::new();
    world.cloud.fail_until(Call::List, &over, Fault::Blind);
    world.wake("b");
    world.sleep("b");
    world.pass(secs(400), secs(5));
    assert_eq!((world.rows().len(), world.cloud.truth().live.len()), (2, 2));
    over.open();
    world.pass(secs(20), secs(5));
    assert_eq!((world.rows().len(), world.cloud.truth().live.len()), (1, 1));
    assert!(world.serves("a"));
}

/// The brake holds for five minutes and until each was looked at, not for ever.
#[test]
fn what_is_gone_all_at_once_is_replaced_once_each_is_known_to_be_gone() {
    let mut world = up(&["a", "b", "c"]);
    world.pass(secs(60), secs(5));
    for it in world.cloud.truth().live {
        world.run(world.cloud.vanish(&it.id));
    }
    world.pass(secs(240), secs(5));
    assert_eq!(world.rows().len(), 3, "it may be the provider's fault");
    world.pass(secs(180), secs(5));
    assert_eq!(world.rows(), []);
    world.wake("a");
    world.pass(secs(5), secs(1));
    assert!(world.serves("a"));
}

/// What a person deletes is believed to be gone when its provider says so, though
/// something answers where it was.
#[test]
fn a_person_decides_what_of_a_shrunken_list_is_gone() {
    let mut world = up(&["a", "b"]);
    world.pass(secs(60), secs(5));
    let never = Latch::new();
    for call in [Call::List, Call::Get, Call::Delete] {
        world.cloud.fail_until(call, &never, Fault::Blind);
    }
    world.pass(secs(400), secs(5));
    assert_eq!(world.rows().len(), 2);
    for row in world.rows() {
        let path = format!("/instances/{}", row.id);
        world.admin(Method::DELETE, &path, None);
    }
    world.pass(secs(120), secs(5));
    assert_eq!(world.rows(), []);
}

/// Its address is another's now: nothing is sent to it any more.
#[test]
fn an_address_that_another_instance_has_now_is_taken_from_the_old_one() {
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
