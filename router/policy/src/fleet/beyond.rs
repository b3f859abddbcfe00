use std::fmt;
use std::iter::repeat;

use super::memory::Gib;
use super::{Mib, Terms};
use crate::Shape;

/// A worker, as far as it says what it could ever hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Whether a gateway knows its token.
    pub known: bool,
    /// Whether it may pull the deployment.
    pub may_pull: bool,
    /// Which work it is for.
    pub shape: Shape,
    /// What models may take of each of its devices; nothing where it does not say.
    pub devices: Vec<Mib>,
    /// What models may take of all of them.
    pub memory: Mib,
    /// What pinned models hold of each of its devices; nothing where it does not say.
    pub pinned: Vec<Mib>,
    /// Whether it holds the deployment's model.
    pub holds: bool,
}

/// Why no worker could ever hold a model, whatever it let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// There is none.
    NoWorker,
    /// No gateway knows the token of any.
    Barred,
    /// None may pull the deployment.
    NotAllowed,
    /// None is for such work.
    OtherShape(Shape),
    /// None has the memory.
    TooLarge {
        /// What it takes of each device.
        need: Mib,
        /// How many devices it is spread over; 1 or more.
        spread: usize,
        /// What the best worker has of it on its best device; on the worst of
        /// its best, where it is spread.
        best: Mib,
    },
    /// Pinned models leave none the memory.
    Pinned {
        /// What it takes of each device.
        need: Mib,
        /// How many devices it is spread over; 1 or more.
        spread: usize,
        /// The most that they leave any worker of what it needs.
        left: Mib,
    },
}

impl Candidate {
    /// What it has for a share of a model that is spread over so many devices.
    fn best(&self, spread: usize) -> Mib {
        match self.devices.is_empty() {
            true => self.memory.share(spread),
            false => worst_of_best(self.devices.clone(), spread),
        }
    }

    /// What pinned models leave of that; nothing is in the way of what is there.
    fn left(&self, spread: usize) -> Mib {
        if self.holds || self.devices.is_empty() {
            return self.best(spread);
        }
        let pinned = self.pinned.iter().copied().chain(repeat(Mib::ZERO));
        let devices = self.devices.iter().zip(pinned);
        let left = devices.map(|(device, pinned)| device.less(pinned));
        worst_of_best(left.collect(), spread)
    }
}

/// The least of the `spread` devices that have most.
fn worst_of_best(mut devices: Vec<Mib>, spread: usize) -> Mib {
    devices.sort_unstable_by(|a, b| b.cmp(a));
    devices.get(spread - 1).copied().unwrap_or_default()
}

/// Why none of `workers` could ever hold a model on `terms`; `None` where one could.
pub fn beyond(terms: &Terms, workers: &[Candidate]) -> Option<Beyond> {
    let known = |worker: &&Candidate| worker.known;
    let allowed = |worker: &&Candidate| worker.known && worker.may_pull;
    let shaped = |worker: &&Candidate| allowed(worker) && worker.shape == terms.shape;
    let (need, spread) = (terms.share(), terms.spread());
    let most = |of: fn(&Candidate, usize) -> Mib| {
        let shaped = workers.iter().filter(shaped);
        shaped.map(|it| of(it, spread)).max()
    };
    match most(Candidate::best) {
        Some(best) if best >= need => {
            let left = most(Candidate::left).filter(|left| *left < need);
            left.map(|left| Beyond::Pinned { need, spread, left })
        }
        Some(best) => Some(Beyond::TooLarge { need, spread, best }),
        None if workers.is_empty() => Some(Beyond::NoWorker),
        None if !workers.iter().any(|it| known(&it)) => Some(Beyond::Barred),
        None if !workers.iter().any(|it| allowed(&it)) => Some(Beyond::NotAllowed),
        None => Some(Beyond::OtherShape(terms.shape)),
    }
}

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Beyond::NoWorker => f.write_str("no worker of the fleet is there"),
            Beyond::Barred => f.write_str("no gateway knows the token of any worker"),
            Beyond::NotAllowed => {
                f.write_str("no worker of the fleet may pull it (`may_pull` of [fleet.workers])")
            }
            Beyond::OtherShape(shape) => {
                let shape = match shape {
                    Shape::Gpu => "gpu",
                    Shape::Cpu => "cpu",
                };
                write!(f, "no worker of the fleet is of the shape `{shape}`")
            }
            Beyond::Pinned { need, spread, left } => {
                f.write_str("pinned models leave no worker of the fleet the memory: it needs ")?;
                amount(f, need, spread)?;
                write!(f, ", at most {} is left", Gib(left))
            }
            Beyond::TooLarge { need, spread, best } => {
                f.write_str("no worker of the fleet has the memory: it needs ")?;
                amount(f, need, spread)?;
                write!(f, ", the largest has {}", Gib(best))
            }
        }
    }
}

fn amount(f: &mut fmt::Formatter<'_>, need: Mib, spread: usize) -> fmt::Result {
    let need = Gib(need);
    match spread {
        1 => write!(f, "{need}"),
        n => write!(f, "{need} on each of {n} GPUs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1_024;

    fn worker(devices: &[u64]) -> Candidate {
        let devices: Vec<Mib> = devices.iter().map(|gib| Mib(gib * GIB)).collect();
        Candidate {
            known: true,
            may_pull: true,
            shape: Shape::Gpu,
            memory: devices.iter().copied().sum(),
            devices,
            pinned: Vec::new(),
            holds: false,
        }
    }

    fn terms(gib: u64, devices: u32) -> Terms {
        Terms {
            memory: Mib(gib * GIB),
            devices,
            ..Terms::default()
        }
    }

    fn told(terms: &Terms, workers: &[Candidate]) -> Option<String> {
        beyond(terms, workers).map(|it| it.to_string())
    }

    #[test]
    fn one_worker_that_could_is_enough() {
        assert_eq!(beyond(&terms(24, 1), &[worker(&[8]), worker(&[24])]), None);
        assert_eq!(beyond(&terms(40, 2), &[worker(&[24, 24])]), None);
        assert_eq!(beyond(&terms(0, 0), &[worker(&[])]), None);
    }

    #[test]
    fn a_model_on_one_gpu_is_not_held_by_two_that_are_smaller() {
        assert_eq!(
            told(&terms(40, 1), &[worker(&[8]), worker(&[24, 24])]).unwrap(),
            "no worker of the fleet has the memory: it needs 40 GiB, the largest has 24 GiB"
        );
        assert_eq!(
            told(&terms(40, 2), &[worker(&[24]), worker(&[24, 16])]).unwrap(),
            "no worker of the fleet has the memory: it needs 20 GiB on each of 2 GPUs, the largest has 16 GiB"
        );
    }

    #[test]
    fn who_does_not_tell_its_devices_is_believed_as_long_as_its_memory_lasts() {
        let older = |gib: u64| Candidate {
            memory: Mib(gib * GIB),
            ..worker(&[])
        };
        assert_eq!(beyond(&terms(40, 2), &[older(40)]), None);
        assert!(beyond(&terms(40, 2), &[older(39)]).is_some());
    }

    #[test]
    fn pinned_models_alone_may_leave_no_room_but_none_is_in_its_own_way() {
        let pinned = |gib: &[u64]| Candidate {
            pinned: gib.iter().map(|gib| Mib(gib * GIB)).collect(),
            ..worker(&[24, 24])
        };
        assert_eq!(
            told(&terms(10, 1), &[pinned(&[20, 16])]).unwrap(),
            "pinned models leave no worker of the fleet the memory: it needs 10 GiB, at most \
             8 GiB is left"
        );
        assert_eq!(beyond(&terms(8, 1), &[pinned(&[20, 16])]), None);
        assert!(beyond(&terms(16, 2), &[pinned(&[20, 16])]).is_some());
        assert_eq!(
            beyond(&terms(10, 1), &[pinned(&[20, 16]), worker(&[16])]),
            None
        );
        let holder = Candidate {
            holds: true,
            ..pinned(&[20, 16])
        };
        assert_eq!(beyond(&terms(10, 1), &[holder]), None);
    }

    #[test]
    fn what_stands_in_the_way_is_told_in_the_order_in_which_it_must_be_put_right() {
        let barred = Candidate {
            known: false,
            ..worker(&[24])
        };
        let strange = Candidate {
            may_pull: false,
            ..worker(&[24])
        };
        let cpu = Candidate {
            shape: Shape::Cpu,
            ..worker(&[24])
        };
        let mut workers = Vec::new();
        for (more, reason) in [
            (None, Beyond::NoWorker),
            (Some(barred), Beyond::Barred),
            (Some(strange), Beyond::NotAllowed),
            (Some(cpu), Beyond::OtherShape(Shape::Gpu)),
        ] {
            workers.extend(more);
            assert_eq!(beyond(&terms(8, 1), &workers), Some(reason));
        }
        workers.push(worker(&[8]));
        assert_eq!(beyond(&terms(8, 1), &workers), None);
    }
}
