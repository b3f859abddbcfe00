use std::cmp::Reverse;

use super::victims::candidates;
use super::{Device, Eviction, Mib, Resident, Stage, Vacancy, Want, Weight};
use crate::Moment;

/// How `device` gets room for its share of what `want` names, at the least
/// loss; `None` where it cannot. Who is `patient` waits for models to mature.
pub(super) fn vacate(
    device: usize,
    want: &Want,
    devices: &[Device],
    residents: &[Resident],
    rules: &Eviction,
    now: Moment,
    patient: bool,
) -> Option<Vacancy> {
    let free = free(device, devices, residents);
    let missing = want.terms.share().less(free);
    let mut candidates = candidates(device, want, residents, rules, now, patient);
    candidates.sort_by(Weight::order);
    let chosen = spared(least(candidates, missing)?, missing);
    Some(Vacancy::of(device, chosen, free))
}

/// What is free of `device`: what reservations leave, or less where the last
/// reading says so. A model that is being loaded may not be in that reading yet.
pub(super) fn free(device: usize, devices: &[Device], residents: &[Resident]) -> Mib {
    let there = residents
        .iter()
        .filter(|resident| resident.devices.contains(&device));
    let (mut reserved, mut loading) = (Mib::ZERO, Mib::ZERO);
    for resident in there {
        reserved = reserved + resident.share;
        if resident.stage == Stage::Loading {
            loading = loading + resident.share;
        }
    }
    let left = devices[device].total.less(reserved);
    let read = devices[device].free.map(|free| free.less(loading));
    read.map_or(left, |read| read.min(left))
}

/// The first of `candidates` that free `missing` together.
fn least(candidates: Vec<Weight>, missing: Mib) -> Option<Vec<Weight>> {
    let mut freed = Mib::ZERO;
    let mut chosen = Vec::new();
    for candidate in candidates {
        if freed >= missing {
            break;
        }
        freed = freed + candidate.share;
        chosen.push(candidate);
    }
    (freed >= missing).then_some(chosen)
}

/// `chosen` without those that turn out not to be needed, the dearest first.
fn spared(mut chosen: Vec<Weight>, missing: Mib) -> Vec<Weight> {
    let mut spare = chosen
        .iter()
        .map(|victim| victim.share)
        .sum::<Mib>()
        .less(missing);
    chosen.sort_by_key(|victim| Reverse(victim.rank()));
    chosen.retain(|victim| {
        let needed = victim.share > spare;
        if !needed {
            spare = spare.less(victim.share);
        }
        needed
    });
    chosen
}
