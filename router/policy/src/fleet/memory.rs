//! A worker's memory as a cache of models.
//!
//! Entries differ in size by two orders of magnitude; to evict one takes
//! milliseconds, to load one tens of seconds. So what counts is not how many
//! models are held but what it would cost to load them again.

mod device;
mod shortage;
mod victims;

use std::time::Duration;

use self::device::{free, vacate};
use self::victims::{Vacancy, Weight};
use super::{Heat, Mib, Terms};
use crate::Moment;

pub(super) use shortage::Gib;
pub use shortage::{Shortage, shortage};

/// One device's memory: a GPU's, or the main memory of a worker without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// What models may take of it.
    pub total: Mib,
    /// What was free of it at the last reading, whoever took the rest; `None`
    /// where nobody can tell.
    pub free: Option<Mib>,
}

/// Where a model stands in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// On its way in: its memory is reserved, and no reading need show it yet.
    Loading,
    /// It answers.
    Ready,
    /// On its way out: its memory is not free yet.
    Leaving,
}

/// A model that a worker holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resident<'a> {
    /// The deployment.
    pub model: &'a str,
    /// The devices that it is on, by index.
    pub devices: &'a [usize],
    /// What it takes of each: its reserved share, and what was read once it was loaded.
    pub share: Mib,
    /// Jobs that run on it.
    pub in_flight: u32,
    /// Jobs that wait for it.
    pub waiting: u32,
    /// Where it stands.
    pub stage: Stage,
    /// When its loading began.
    pub since: Moment,
    /// When it last had work in hand, or was loaded.
    pub last_used: Moment,
    /// How much it is used, by all workers: a model that moves stays as hot as it was.
    pub heat: Heat,
    /// Other workers that serve it.
    pub others: usize,
    /// How long loading it took.
    pub load_time: Duration,
    /// Whether its terms pin it now.
    pub pinned: bool,
    /// Whether its terms make it yield.
    pub preemptible: bool,
}

/// A model that is to be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want<'a> {
    /// Its terms.
    pub terms: &'a Terms,
    /// Whether jobs wait for it that nobody else serves.
    pub starving: bool,
}

/// What protects models from eviction. The defaults are what the simulation of
/// a thousand models (`router/simulate/tests/fleet`) bears out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eviction {
    /// How long a model stays at least, unless a starving queue forces it out.
    pub min_residence: Duration,
    /// For how long a model must have had no work before preemptible work takes its place.
    pub lull: Duration,
    /// The half-life of [`Heat`].
    pub half_life: Duration,
    /// What a miss costs besides its load: somebody waits, however short that is.
    pub miss: Duration,
}

impl Default for Eviction {
    fn default() -> Self {
        Eviction {
            min_residence: Duration::from_secs(30),
            lull: Duration::from_secs(5),
            half_life: Duration::from_secs(3_600),
            miss: Duration::from_secs(15),
        }
    }
}

/// Whether and how a model gets into memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission<'a> {
    /// There is room on these devices.
    Fits {
        /// By index.
        devices: Vec<usize>,
    },
    /// There is room once these models are gone.
    Evict {
        /// By index.
        devices: Vec<usize>,
        /// Idle ones.
        idle: Vec<&'a str>,
        /// Preemptible ones with work in hand, which is given back first.
        yielding: Vec<&'a str>,
    },
    /// There is no room now.
    Wait {
        /// When enough models have stayed long enough; `None` = when work in hand ends.
        until: Option<Moment>,
    },
    /// It does not fit, whatever is evicted.
    Never,
}

/// Whether and how the model that `want` names gets into memory at `now`.
///
/// * What its terms declare is reserved from the moment that its loading begins,
///   and replaced by what is read afterwards. Where a live reading shows less free than
///   that leaves, the reading holds.
/// * Never evicted are models with work in hand, unless they are preemptible and
///   `want` is not; models that are being loaded, or leave already; and pinned
///   ones, as long as their terms pin them.
/// * Models younger than the minimum residence, and those with jobs waiting, are
///   evicted only for a model that is starving or pinned.
/// * A preemptible model takes the place only of those that nobody waits for and that
///   have had no work for a lull, however long they have stayed.
/// * Of the others those go that will be missed least: heat × (load time + what
///   a miss costs besides) per MiB, the lowest first. That is the value of GreedyDual-Size with frequency
///   (Cherkasova, HP Labs 98-69, 1998), with a half-life in place of its clock. The heat is
///   the deployment's, whoever ran its jobs; it counts much less where others serve it too.
/// * Of several devices those are taken where the least is lost.
pub fn admit<'a>(
    want: &Want,
    devices: &[Device],
    residents: &[Resident<'a>],
    rules: &Eviction,
    now: Moment,
) -> Admission<'a> {
    let spread = want.terms.spread();
    let able = (0..devices.len()).filter(|device| could_hold(want, *device, devices, residents));
    let able: Vec<usize> = able.collect();
    if able.len() < spread {
        return Admission::Never;
    }
    let vacancies = |patient| {
        let vacancy =
            |device: &usize| vacate(*device, want, devices, residents, rules, now, patient);
        let mut found: Vec<Vacancy> = able.iter().filter_map(vacancy).collect();
        found.sort_by(Vacancy::order);
        (found.len() >= spread).then(|| {
            found.truncate(spread);
            found
        })
    };
    match vacancies(false) {
        Some(chosen) => admitted(chosen, residents),
        None => Admission::Wait {
            until: vacancies(true).and_then(|chosen| matured(&chosen, residents, rules)),
        },
    }
}

/// Whether `device` has room for the share once everything but pinned models is gone.
fn could_hold(want: &Want, device: usize, devices: &[Device], residents: &[Resident]) -> bool {
    let pinned = residents
        .iter()
        .filter(|resident| resident.pinned && resident.devices.contains(&device))
        .map(|resident| resident.share)
        .sum();
    devices[device].total.less(pinned) >= want.terms.share()
}

fn admitted<'a>(chosen: Vec<Vacancy>, residents: &[Resident<'a>]) -> Admission<'a> {
    let devices = chosen.iter().map(|vacancy| vacancy.device).collect();
    let mut victims: Vec<usize> = chosen.into_iter().flat_map(|v| v.victims).collect();
    victims.sort_unstable();
    victims.dedup();
    if victims.is_empty() {
        return Admission::Fits { devices };
    }
    let (yielding, idle): (Vec<usize>, Vec<usize>) = victims
        .into_iter()
        .partition(|victim| residents[*victim].in_flight > 0);
    let names = |victims: Vec<usize>| victims.into_iter().map(|v| residents[v].model).collect();
    Admission::Evict {
        devices,
        idle: names(idle),
        yielding: names(yielding),
    }
}

/// When the last of the victims has stayed long enough.
fn matured(chosen: &[Vacancy], residents: &[Resident], rules: &Eviction) -> Option<Moment> {
    let victims = chosen.iter().flat_map(|vacancy| &vacancy.victims);
    victims
        .map(|victim| residents[*victim].since + rules.min_residence)
        .max()
}

#[cfg(test)]
mod tests;
