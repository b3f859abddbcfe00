use std::time::Duration;

use thermocline_provider::{ConfiguredGpus, Gpu, ProbeError};

use super::claims::{Answer, Ask};
use super::*;

const GIB: u64 = 1 << 30;

fn at(seconds: u64) -> Moment {
    Moment::from_origin(Duration::from_secs(seconds))
}

fn vram(gib: u64) -> Resources {
    Resources {
        vram: gib * GIB,
        ..Resources::default()
    }
}

/// GPUs of 24 GiB, with so much taken of each.
fn gpus(used_gib: &[u64]) -> Vec<Gpu> {
    let gpu = |(index, used): (u32, &u64)| Gpu {
        index,
        uuid: Some(format!("GPU-{index}")),
        name: "NVIDIA L4".to_owned(),
        total: 24 * GIB,
        used: Some(used * GIB),
    };
    (0..).zip(used_gib).map(gpu).collect()
}

/// A machine whose GPUs were read at the origin.
fn machine(used_gib: &[u64]) -> Machine {
    let machine = Machine::new(Arc::new(ConfiguredGpus::default()));
    machine.books().read(Ok(gpus(used_gib)), at(0));
    machine
}

fn read(machine: &Machine, used_gib: &[u64], seconds: u64) {
    machine.books().read(Ok(gpus(used_gib)), at(seconds));
}

/// Asks for room at `seconds`; `alone` where no other tier would serve.
fn ask_at(machine: &Machine, instance: &str, gib: u64, alone: bool, seconds: u64) -> Answer {
    let mut books = machine.books();
    let terms = wants(&vram(gib), &books).unwrap();
    let ask = Ask {
        deployment: instance,
        instance,
        terms: &terms,
        alone,
        wanted: true,
    };
    books.ask(&ask, &Activities::default(), at(seconds))
}

fn reserve(machine: &Machine, instance: &str, gib: u64) -> Result<Vec<String>, String> {
    match ask_at(machine, instance, gib, false, 1) {
        Answer::Placed(placement) => Ok(placement.uuids()),
        Answer::Refused(why) => Err(why),
        Answer::Waits(_) => panic!("another tier serves it"),
    }
}

fn fits(machine: &Machine, gib: u64, seconds: u64) -> bool {
    machine.fits("another", &vram(gib), at(seconds))
}

#[test]
fn promises_never_exceed_a_gpu_and_say_what_is_missing() {
    let machine = machine(&[0, 0]);
    assert_eq!(reserve(&machine, "a", 11), Ok(vec!["GPU-0".into()]));
    assert_eq!(reserve(&machine, "b", 20), Ok(vec!["GPU-1".into()]));
    assert_eq!(reserve(&machine, "c", 13), Ok(vec!["GPU-0".into()]));
    let full = reserve(&machine, "d", 5).unwrap_err();
    assert_eq!(full, "5 GiB needed, 4 GiB free on the best GPU");
    assert!(!fits(&machine, 5, 1));
    machine.release("b");
    assert_eq!(reserve(&machine, "d", 5), Ok(vec!["GPU-1".into()]));
}

#[test]
fn what_was_promised_counts_once_before_and_after_it_is_seen() {
    let machine = machine(&[0]);
    reserve(&machine, "a", 11).unwrap();
    assert!(fits(&machine, 13, 1) && !fits(&machine, 14, 1));
    machine.ready("a", at(30));
    read(&machine, &[5], 29);
    assert!(
        fits(&machine, 13, 31) && !fits(&machine, 14, 31),
        "the 5 that it took are of its 11"
    );
    read(&machine, &[11], 32);
    assert!(fits(&machine, 13, 32), "seen, and counted once");
    read(&machine, &[15], 34);
    assert!(!fits(&machine, 10, 34), "it took more than it said");
}

#[test]
fn what_others_took_before_a_promise_is_none_of_it() {
    let machine = machine(&[8]);
    reserve(&machine, "a", 11).unwrap();
    assert!(fits(&machine, 5, 1) && !fits(&machine, 6, 1));
    read(&machine, &[12], 2);
    assert!(
        fits(&machine, 5, 2) && !fits(&machine, 6, 2),
        "4 of 11 are seen"
    );
    read(&machine, &[21], 3);
    assert!(
        fits(&machine, 3, 3) && !fits(&machine, 4, 3),
        "it takes 13, not 11"
    );
    let b = ask_at(&machine, "b", 2, false, 3);
    assert!(matches!(b, Answer::Placed(_)), "{b:?}");
    machine.ready("a", at(4));
    read(&machine, &[22], 5);
    assert!(
        fits(&machine, 1, 5) && !fits(&machine, 2, 5),
        "1 of b's 2 is seen"
    );
}

#[test]
fn a_reading_that_fails_says_nothing() {
    let machine = machine(&[10]);
    let failed = Err(ProbeError::Silent("NVML"));
    machine.books().read(failed, at(2));
    assert!(fits(&machine, 14, 2) && !fits(&machine, 15, 2));
    let (gpus, error) = machine.json();
    assert_eq!(
        (gpus.len(), error.as_deref()),
        (1, Some("NVML did not answer in time"))
    );
    read(&machine, &[0], 4);
    assert_eq!(machine.json().1, None);
}

#[test]
fn a_restart_finds_a_placement_whatever_the_order_of_the_gpus() {
    let before = machine(&[20, 0]);
    let Answer::Placed(placement) = ask_at(&before, "a", 11, false, 1) else {
        panic!("there is room");
    };
    let written = placement.to_json();
    let after = Machine::new(Arc::new(ConfiguredGpus::default()));
    let mut turned = gpus(&[20, 11]);
    turned.reverse();
    after.books().read(Ok(turned), at(0));
    after.adopt("a", Placement::from_json(&written).unwrap(), true, at(0));
    let reserved: Vec<_> = after
        .json()
        .0
        .iter()
        .map(|gpu| gpu["reserved_mib"].clone())
        .collect();
    assert_eq!(reserved, [11 << 10, 0]);
    assert!(fits(&after, 13, 0), "its use is in the reading already");
    after.books().read(Ok(gpus(&[20])[..1].to_vec()), at(2));
    assert!(
        !fits(&after, 5, 2),
        "a GPU that is gone holds nothing for anybody"
    );
}

/// An earlier version wrote down no placement, and Docker took the first GPUs.
#[test]
fn what_has_no_placement_holds_its_promise_on_the_first_gpus() {
    let machine = machine(&[0, 0, 0]);
    let resources = Resources {
        gpus: 2,
        ..vram(40)
    };
    let placement = machine.unnamed(&resources).unwrap();
    assert_eq!(placement.uuids(), ["GPU-0", "GPU-1"]);
    machine.adopt("a", placement, true, at(0));
    let books = machine.books();
    let reserved: Vec<u64> = books.reserved().map(|(_, reserved)| reserved.0).collect();
    assert_eq!(reserved, [20 << 10, 20 << 10, 0]);
    drop(books);
    assert_eq!(machine.unnamed(&Resources::default()), None);
}

#[test]
fn without_gpus_only_what_needs_none_fits() {
    let machine = machine(&[]);
    assert!(machine.fits("a", &Resources::default(), at(0)));
    let counted = Resources {
        gpus: 1,
        ..Resources::default()
    };
    assert!(
        machine.fits("a", &counted, at(0)),
        "Docker says whether there is one"
    );
    assert!(!fits(&machine, 1, 0));
}

#[test]
fn b18_what_is_set_aside_is_nobody_elses_and_given_up_when_nobody_asks() {
    let machine = machine(&[0]);
    reserve(&machine, "a", 20).unwrap();
    machine.ready("a", at(2));
    read(&machine, &[20], 3);
    assert_eq!(
        ask_at(&machine, "b", 20, true, 10),
        Answer::Waits(vec![]),
        "a is young"
    );
    for second in 11..30 {
        assert_eq!(
            ask_at(&machine, "b", 20, true, second),
            Answer::Waits(vec![])
        );
        assert_eq!(machine.makes_room_for("a"), None);
    }
    let leaves = Answer::Waits(vec!["a".to_owned()]);
    assert_eq!(ask_at(&machine, "b", 20, true, 30), leaves);
    assert_eq!(machine.makes_room_for("a").as_deref(), Some("b"));
    assert_eq!(
        ask_at(&machine, "b", 20, true, 31),
        Answer::Waits(vec![]),
        "nobody else goes"
    );
    machine.release("a");
    read(&machine, &[0], 32);
    assert_eq!(
        ask_at(&machine, "a", 20, true, 32),
        Answer::Waits(vec![]),
        "it is set aside"
    );
    let placed = ask_at(&machine, "b", 20, true, 33);
    assert!(matches!(placed, Answer::Placed(_)), "{placed:?}");
    assert_eq!(ask_at(&machine, "a", 20, true, 34), Answer::Waits(vec![]));
    machine.forget_claims(at(40));
    assert_eq!(machine.books().claims.makes_room_for("b"), None);
}

#[test]
fn who_fits_nowhere_or_is_wanted_by_nobody_does_not_wait() {
    let machine = machine(&[0]);
    let never = ask_at(&machine, "large", 25, true, 1);
    let why = "25 GiB needed, 24 GiB free on the best GPU";
    assert_eq!(never, Answer::Refused(why.to_owned()));
    reserve(&machine, "a", 20).unwrap();
    let terms = wants(&vram(20), &machine.books()).unwrap();
    let unwanted = Ask {
        deployment: "b",
        instance: "b",
        terms: &terms,
        alone: true,
        wanted: false,
    };
    let ask = |seconds| {
        machine
            .books()
            .ask(&unwanted, &Activities::default(), at(seconds))
    };
    assert_eq!(
        ask(2),
        Answer::Waits(vec![]),
        "a request may be about to wait"
    );
    assert!(matches!(ask(4), Answer::Refused(_)));
}
