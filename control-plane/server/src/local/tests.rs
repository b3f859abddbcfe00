use std::time::Duration;

use thermocline_provider::{ConfiguredGpus, Gpu, ProbeError};

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

fn reserve(machine: &Machine, instance: &str, gib: u64) -> Result<Vec<String>, String> {
    let placed = machine.reserve(instance, &vram(gib), at(1));
    placed.map(|placement| placement.unwrap().uuids())
}

#[test]
fn promises_never_exceed_a_gpu_and_say_what_is_missing() {
    let machine = machine(&[0, 0]);
    assert_eq!(reserve(&machine, "a", 11), Ok(vec!["GPU-0".into()]));
    assert_eq!(reserve(&machine, "b", 20), Ok(vec!["GPU-1".into()]));
    assert_eq!(reserve(&machine, "c", 13), Ok(vec!["GPU-0".into()]));
    let full = reserve(&machine, "d", 5).unwrap_err();
    assert_eq!(full, "5 GiB needed, 4 GiB free on the best GPU");
    assert!(!machine.fits(&vram(5), at(1)));
    machine.release("b");
    assert_eq!(reserve(&machine, "d", 5), Ok(vec!["GPU-1".into()]));
}

#[test]
fn what_was_promised_counts_once_before_and_after_it_is_seen() {
    let machine = machine(&[0]);
    reserve(&machine, "a", 11).unwrap();
    assert!(machine.fits(&vram(13), at(1)) && !machine.fits(&vram(14), at(1)));
    machine.ready("a", at(30));
    read(&machine, &[5], 29);
    assert!(
        !machine.fits(&vram(9), at(31)),
        "it may have taken no more than 5 of 11 yet"
    );
    read(&machine, &[11], 32);
    assert!(machine.fits(&vram(13), at(32)), "seen, and counted once");
    read(&machine, &[15], 34);
    assert!(
        !machine.fits(&vram(10), at(34)),
        "it took more than it said"
    );
}

#[test]
fn a_reading_that_fails_says_nothing() {
    let machine = machine(&[10]);
    let failed = Err(ProbeError::Silent("NVML"));
    machine.books().read(failed, at(2));
    assert!(machine.fits(&vram(14), at(2)) && !machine.fits(&vram(15), at(2)));
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
    let placement = before.reserve("a", &vram(11), at(1)).unwrap().unwrap();
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
    assert!(
        after.fits(&vram(13), at(0)),
        "its use is in the reading already"
    );
    after.books().read(Ok(gpus(&[20])[..1].to_vec()), at(2));
    assert!(
        !after.fits(&vram(5), at(2)),
        "a GPU that is gone holds nothing for anybody"
    );
}

#[test]
fn without_gpus_only_what_needs_none_fits() {
    let machine = machine(&[]);
    assert!(machine.fits(&Resources::default(), at(0)));
    assert_eq!(machine.reserve("a", &Resources::default(), at(0)), Ok(None));
    let counted = Resources {
        gpus: 1,
        ..Resources::default()
    };
    assert_eq!(
        machine.reserve("b", &counted, at(0)),
        Ok(None),
        "Docker says whether there is one"
    );
    assert!(!machine.fits(&vram(1), at(0)));
}
