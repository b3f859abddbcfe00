//! The figures that are promised.

use std::time::Duration;

use http::Method;
use serde_json::json;
use thermocline_policy::Moment;
use thermocline_provider::ProviderErrorKind;
use thermocline_support::backend::Latch;
use thermocline_support::provider::{Boot, Call, FakeProvider, Fault, FaultKind};

use crate::audit::Planted;
use crate::world::{World, secs};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_leaked_instance_is_reaped_within_60_seconds() {
    for after in 0..6 {
        let (mut world, mut planted) = (World::new(), Planted::default());
        world.pass(secs(after), SECOND);
        planted.leak(&world);
        let began = world.time.now();
        while !world.cloud.truth().live.is_empty() {
            world.step(SECOND);
            assert!(world.time.now().since(began) <= secs(60));
        }
        println!("reaped after {:?}", world.time.now().since(began));
    }
}

/// One serves, one is on its way down, one on its way up when it begins.
fn outage(kind: FaultKind) {
    let mut world = World::new();
    for name in ["a", "b", "c"] {
        world.deploy(name, "toy", 1);
    }
    let stays = json!({ "tiers": { "pod": { "min_instances": 1 } } });
    world.admin(Method::PATCH, "/deployments/a", Some(stays));
    world.wake("a");
    world.wake("b");
    world.pass(secs(2), SECOND);
    world.cloud.switch(kind, 100);
    world.sleep("b");
    world.wake("c");
    world.pass(secs(24 * 3600), secs(60));
    let (rows, live) = (world.rows(), world.cloud.truth().live);
    let stands = |id: &str| rows.iter().any(|row| row.id == id);
    assert!(live.iter().all(|it| stands(&it.key)), "{kind:?}: {rows:?}");
    assert!(world.serves("a"), "{kind:?}");
    world.cloud.heal();
    // The longest back-off of a delete is five minutes.
    world.pass(secs(420), secs(5));
    let live = world.cloud.truth().live;
    let serving = world.rows().into_iter().find(|row| row.deployment == "a");
    let serving = serving.unwrap();
    assert!(serving.state.is_ready(), "{kind:?}");
    assert!(live.iter().any(|it| it.key == serving.id), "{kind:?}");
    assert_eq!(live.len(), world.rows().len(), "{kind:?}");
    assert!(!world.rows().iter().any(|row| row.deployment == "b"));
}

#[test]
fn a_day_of_errors_loses_no_row() {
    outage(FaultKind::ErrorBefore);
}

#[test]
fn a_day_of_silence_loses_no_row() {
    outage(FaultKind::Silence);
}

#[test]
fn a_day_without_credentials_loses_no_row() {
    outage(FaultKind::Revoked);
}

#[test]
fn a_day_of_rate_limits_loses_no_row() {
    outage(FaultKind::TooOften);
}

/// `a`, `b` and `c` serve for a minute already.
fn three_that_serve() -> World {
    let mut world = World::new();
    let stays = json!({ "tiers": { "pod": { "min_instances": 1 } } });
    for name in ["a", "b", "c"] {
        world.deploy(name, "toy", 1);
        let path = format!("/deployments/{name}");
        world.admin(Method::PATCH, &path, Some(stays.clone()));
        world.wake(name);
    }
    world.pass(secs(60), SECOND);
    world
}

/// A day in which `calls` see nothing and say that this is all there is. Of a
/// fourth one, wanted no more, it is not known whether its create was obeyed.
fn blind_day(calls: &[Call]) {
    let mut world = three_that_serve();
    let over = Latch::new();
    for call in calls {
        world.cloud.fail_until(*call, &over, Fault::Blind);
    }
    let lost = Fault::LostReply(ProviderErrorKind::Unavailable);
    world.cloud.fail_next(Call::Create, 1, lost);
    world.deploy("d", "toy", 1);
    world.wake("d");
    world.sleep("d");
    world.pass(secs(24 * 3600), secs(60));
    let (rows, live) = (world.rows(), world.cloud.truth().live);
    let stands = |id: &str| rows.iter().any(|row| row.id == id);
    assert!(live.iter().all(|it| stands(&it.key)), "{rows:?}");
    assert_eq!((rows.len(), live.len()), (4, 4));
    assert!(["a", "b", "c"].iter().all(|name| world.serves(name)));
    over.open();
    world.pass(secs(420), secs(5));
    let truth = world.cloud.truth();
    assert_eq!((world.rows().len(), truth.live.len()), (3, 3));
    assert_eq!(truth.created, 4, "none was replaced");
}

#[test]
fn a_day_of_empty_lists_loses_no_row() {
    blind_day(&[Call::List]);
}

/// As with a key for an account in which there is nothing.
#[test]
fn a_day_in_another_account_loses_no_row_of_what_still_answers() {
    blind_day(&[Call::List, Call::Get]);
}

/// How long `a` takes to serve, and the longest pause between two lists of its
/// provider meanwhile and after.
fn promotion(hangs: bool) -> (Duration, Duration) {
    let mut world = World::with_others(&["slow"]);
    let slow: FakeProvider = world.other("slow");
    world.cloud.set_boot(Boot::After(secs(3)));
    world.deploy("s", "slow", 1);
    world.deploy("a", "toy", 1);
    if hangs {
        let never = Latch::new();
        for call in [Call::List, Call::Get, Call::Create, Call::Delete] {
            slow.hold(call, &never);
        }
    }
    world.wake("s");
    world.pass(secs(10), SECOND / 2);
    world.wake("a");
    let began = world.time.now();
    while !world.serves("a") {
        world.step(SECOND / 10);
        assert!(world.time.now().since(began) < secs(30));
    }
    let took = world.time.now().since(began);
    world.pass(secs(60), SECOND / 2);
    let truth = world.cloud.truth();
    let lists: Vec<Moment> = truth.times(Call::List).collect();
    let pauses = lists.windows(2).map(|two| two[1].since(two[0]));
    (took, pauses.max().unwrap())
}

#[test]
fn a_provider_that_hangs_slows_no_other() {
    let (without, period) = promotion(false);
    let (with, period_with) = promotion(true);
    println!("promotion {without:?}, beside a hanging provider {with:?}");
    println!("period {period:?}, beside a hanging provider {period_with:?}");
    assert!(with <= without + SECOND / 10);
    assert!(period_with <= period.mul_f64(1.5));
}
