//! What travels, in the policy's words.

use std::num::NonZeroU32;

use thermocline_policy::fleet;
use thermocline_wire::fleet as wire;

pub(crate) const fn shape(shape: wire::Shape) -> fleet::Shape {
    match shape {
        wire::Shape::Gpu => fleet::Shape::Gpu,
        wire::Shape::Cpu => fleet::Shape::Cpu,
    }
}

pub(crate) fn terms(terms: &wire::Terms) -> fleet::Terms {
    fleet::Terms {
        memory: fleet::Mib(terms.memory_mib),
        devices: terms.gpus,
        max_workers: NonZeroU32::new(terms.max_workers),
        pinned: terms.pinned,
        shape: shape(terms.shape),
        preemptible: terms.preemptible,
    }
}

pub(crate) const fn class(class: fleet::Class) -> wire::Class {
    match class {
        fleet::Class::Transient => wire::Class::Transient,
        fleet::Class::Deterministic => wire::Class::Deterministic,
        fleet::Class::Poison => wire::Class::Poison,
    }
}

/// Requests of a deployment at a time on a worker with so many permits.
pub(crate) fn limit(terms: &wire::Terms, permits: u32) -> u32 {
    let own = match terms.max_concurrency {
        0 => u32::MAX,
        limit => limit,
    };
    let members = match terms.exclusive {
        true => terms.members.max(1),
        false => u32::MAX,
    };
    permits.min(own).min(members).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_of_permits_concurrency_and_members_limits() {
        let mut terms = wire::Terms::default();
        assert_eq!(limit(&terms, 8), 8);
        terms.max_concurrency = 4;
        assert_eq!(limit(&terms, 8), 4);
        (terms.exclusive, terms.members) = (true, 2);
        assert_eq!(limit(&terms, 8), 2);
        terms.members = 0;
        assert_eq!(limit(&terms, 8), 1);
    }
}
