use std::cmp::Reverse;
use std::fmt;

use super::{Device, Mib, Resident, free};
use crate::fleet::Terms;

/// Why a model has no room: what it needs and what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// What it takes of each device.
    pub need: Mib,
    /// How many devices it is spread over; 1 or more.
    pub spread: usize,
    /// What is free on the best device; on the worst of the best, where it is
    /// spread. Nothing where there are fewer devices.
    pub best: Mib,
}

/// What keeps a model on `terms` from having room beside `residents`.
pub fn shortage(terms: &Terms, devices: &[Device], residents: &[Resident]) -> Shortage {
    let spread = terms.spread();
    let mut frees: Vec<Mib> = (0..devices.len())
        .map(|device| free(device, devices, residents))
        .collect();
    frees.sort_by_key(|free| Reverse(*free));
    Shortage {
        need: terms.share(),
        spread,
        best: frees.get(spread - 1).copied().unwrap_or_default(),
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (need, best) = (Gib(self.need), Gib(self.best));
        match self.spread {
            1 => write!(f, "{need} needed, {best} free on the best GPU"),
            n => write!(
                f,
                "{need} needed on each of {n} GPUs, {best} free on the best {n}"
            ),
        }
    }
}

/// An amount as people read it: GiB with one decimal where it has one, rounded
/// to the nearest; MiB below 1 GiB.
pub(in crate::fleet) struct Gib(pub(in crate::fleet) Mib);

impl fmt::Display for Gib {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.0.0;
        if mib < 1_024 {
            return self.0.fmt(f);
        }
        let tenths = (mib.saturating_mul(10).saturating_add(512)) / 1_024;
        match tenths % 10 {
            0 => write!(f, "{} GiB", tenths / 10),
            tenth => write!(f, "{}.{tenth} GiB", tenths / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(free_mib: &[u64]) -> Vec<Device> {
        let device = |mib: &u64| Device {
            total: Mib(*mib),
            free: None,
        };
        free_mib.iter().map(device).collect()
    }

    fn told(memory: u64, spread: u32, free_mib: &[u64]) -> String {
        let terms = Terms {
            memory: Mib(memory),
            devices: spread,
            ..Terms::default()
        };
        shortage(&terms, &devices(free_mib), &[]).to_string()
    }

    #[test]
    fn it_names_the_need_and_the_best_there_is() {
        let gib = 1_024;
        assert_eq!(
            told(86 * gib + 512, 0, &[9 * gib + 512, 80 * gib]),
            "86.5 GiB needed, 80 GiB free on the best GPU"
        );
        assert_eq!(
            told(600, 1, &[]),
            "600 MiB needed, 0 MiB free on the best GPU"
        );
        assert_eq!(
            told(40 * gib, 2, &[24 * gib, 8 * gib, 16 * gib]),
            "20 GiB needed on each of 2 GPUs, 16 GiB free on the best 2"
        );
    }
}
