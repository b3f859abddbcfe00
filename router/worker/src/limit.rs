//! How many requests a deployment may have here.

use thermocline_wire::fleet::Terms;

/// Requests of a deployment at a time on a worker with so many permits.
pub(crate) fn limit(terms: &Terms, permits: u32) -> u32 {
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
        let mut terms = Terms::default();
        assert_eq!(limit(&terms, 8), 8);
        terms.max_concurrency = 4;
        assert_eq!(limit(&terms, 8), 4);
        (terms.exclusive, terms.members) = (true, 2);
        assert_eq!(limit(&terms, 8), 2);
        terms.members = 0;
        assert_eq!(limit(&terms, 8), 1);
    }
}
