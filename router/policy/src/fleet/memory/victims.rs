use std::cmp::Ordering;

use super::{Eviction, Mib, Resident, Stage, Want};
use crate::Moment;

/// How reluctantly a model is evicted; the first goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reluctance {
    /// It is preemptible, and idle.
    Yields,
    /// It is idle and has stayed long enough.
    Free,
    /// It is too young, or jobs wait for it.
    Forced,
    /// It is preemptible, and has work in hand.
    Interrupted,
}

/// A model that may be evicted, and what is lost with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    resident: usize,
    reluctance: Reluctance,
    /// Seconds that will be lost within a half-life or so.
    cost: f64,
    pub(super) share: Mib,
}

impl Weight {
    /// Which of two goes first: the less for what it takes.
    pub(super) fn order(&self, other: &Weight) -> Ordering {
        let density = |weight: &Weight| weight.cost / weight.share.0.max(1) as f64;
        let by_density = || density(self).total_cmp(&density(other));
        self.reluctance.cmp(&other.reluctance).then_with(by_density)
    }

    /// How much is saved by sparing it: the reluctance, then nanoseconds of reloading.
    pub(super) fn rank(&self) -> (impl Ord + use<>, u64) {
        (self.reluctance, (self.cost * 1e9) as u64)
    }
}

/// A device with room, once its victims are gone.
#[derive(Debug)]
pub(super) struct Vacancy {
    pub(super) device: usize,
    /// Residents, by index.
    pub(super) victims: Vec<usize>,
    worst: Option<Reluctance>,
    cost: f64,
    free: Mib,
}

impl Vacancy {
    pub(super) fn of(device: usize, chosen: Vec<Weight>, free: Mib) -> Self {
        Vacancy {
            device,
            worst: chosen.iter().map(|victim| victim.reluctance).max(),
            cost: chosen.iter().map(|victim| victim.cost).sum(),
            victims: chosen.iter().map(|victim| victim.resident).collect(),
            free,
        }
    }

    /// Which of two is better: where less is lost, then where less is left over.
    pub(super) fn order(&self, other: &Vacancy) -> Ordering {
        let by_cost = || self.cost.total_cmp(&other.cost);
        let by_rest = || self.free.cmp(&other.free);
        self.worst
            .cmp(&other.worst)
            .then_with(by_cost)
            .then_with(by_rest)
    }
}

/// What may be evicted from `device` for `want`. Who is `patient` counts those
/// that are only too young as old enough.
pub(super) fn candidates(
    device: usize,
    want: &Want,
    residents: &[Resident],
    rules: &Eviction,
    now: Moment,
    patient: bool,
) -> Vec<Weight> {
    let there = residents.iter().enumerate();
    there
        .filter(|(_, resident)| resident.devices.contains(&device))
        .filter_map(|(index, resident)| {
            let mut rest = Rest::of(resident, rules, now);
            rest.mature |= patient;
            Some(Weight {
                resident: index,
                reluctance: reluctance(want, resident, rest)?,
                cost: cost(resident, rules, now),
                share: resident.share,
            })
        })
        .collect()
}

/// How much less a copy is missed that other workers have too, as a power of how many there
/// are; what the simulation of warm models beside cold ones bears out.
const SPARE: i32 = 4;

/// What is lost with `resident`: its uses, each with a load and what a miss costs besides.
fn cost(resident: &Resident, rules: &Eviction, now: Moment) -> f64 {
    let miss = resident.load_time + rules.miss;
    let copies = (1 + resident.others) as f64;
    let uses = resident.heat.read(now, rules.half_life) / copies.powi(SPARE);
    uses * miss.as_secs_f64()
}

/// How long a model has been there, and idle.
#[derive(Debug, Clone, Copy)]
struct Rest {
    /// It has stayed its time.
    mature: bool,
    /// It has had no work for a lull.
    lulled: bool,
}

impl Rest {
    fn of(resident: &Resident, rules: &Eviction, now: Moment) -> Self {
        Rest {
            mature: now.since(resident.since) >= rules.min_residence,
            lulled: now.since(resident.last_used) >= rules.lull,
        }
    }
}

/// How reluctantly `resident` makes room for `want`; `None` = it does not. Preemptible
/// work takes nothing from a model that has work, or may have some in a moment.
fn reluctance(want: &Want, resident: &Resident, rest: Rest) -> Option<Reluctance> {
    if resident.pinned || resident.stage != Stage::Ready {
        return None;
    }
    let yields = resident.preemptible && !want.terms.preemptible;
    let unwanted = resident.waiting == 0;
    let free = unwanted && (rest.lulled || !want.terms.preemptible);
    match (yields, resident.in_flight > 0) {
        (true, true) => Some(Reluctance::Interrupted),
        (true, false) => Some(Reluctance::Yields),
        (false, true) => None,
        (false, false) if rest.mature && free => Some(Reluctance::Free),
        (false, false) if want.terms.preemptible && !free => None,
        (false, false) => may_force(want).then_some(Reluctance::Forced),
    }
}

/// Whether it need not wait until others have stayed their time.
fn may_force(want: &Want) -> bool {
    want.starving || (want.terms.pinned && !want.terms.preemptible)
}
