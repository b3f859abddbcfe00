use std::collections::BTreeSet;
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_provider::ProviderInstance;

/// A list that stays shrunken for so long is believed.
const BRAKE: Duration = Duration::from_secs(300);
/// Fewer missing ones are an everyday matter.
const FEWEST: usize = 2;
/// Deleted instances that are remembered.
const MOST_LEAVING: usize = 10_000;

/// A complete list that lacks suddenly more than half of what there was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shrunken {
    /// What the last list that was believed had, but for what was deleted since.
    pub(crate) before: usize,
    /// How many of these are missing.
    pub(crate) missing: usize,
    since: Moment,
}

/// What a provider listed last, as far as it was believed.
#[derive(Debug, Default)]
pub(super) struct Listing {
    ids: BTreeSet<String>,
    /// What was deleted; a list that was asked for before may still have it.
    leaving: BTreeSet<String>,
    shrunken: Option<Shrunken>,
    /// How often what is behind the provider had begun anew.
    beginnings: u64,
}

impl Listing {
    /// The instance is known to be on its way out: it will be missing.
    pub(super) fn expect_without(&mut self, id: &str) {
        self.ids.remove(id);
        if self.leaving.len() >= MOST_LEAVING {
            self.leaving.clear();
        }
        self.leaving.insert(id.to_owned());
    }

    /// What is behind the provider has begun so often: nothing of what there
    /// was before the last time is missed.
    pub(super) fn begin(&mut self, beginnings: u64) {
        if std::mem::replace(&mut self.beginnings, beginnings) != beginnings {
            (self.ids, self.shrunken) = (BTreeSet::new(), None);
        }
    }

    /// Whether a complete list of `seen` at `now` is information.
    pub(super) fn believes(&mut self, seen: &[ProviderInstance], now: Moment) -> bool {
        let stay = seen.iter().filter(|it| !self.leaving.contains(&it.id));
        let ids: BTreeSet<String> = stay.map(|it| it.id.clone()).collect();
        let (before, missing) = (self.ids.len(), self.ids.difference(&ids).count());
        if missing < FEWEST || missing * 2 <= before {
            (self.ids, self.shrunken) = (ids, None);
            return true;
        }
        let since = self.shrunken.map_or(now, |shrunken| shrunken.since);
        if now.since(since) >= BRAKE {
            (self.ids, self.shrunken) = (ids, None);
            return true;
        }
        self.shrunken = Some(Shrunken {
            before,
            missing,
            since,
        });
        false
    }

    pub(super) fn shrunken(&self) -> Option<Shrunken> {
        self.shrunken
    }
}

#[cfg(test)]
mod tests {
    use thermocline_provider::ProviderState;

    use super::*;

    fn list(ids: &[&str]) -> Vec<ProviderInstance> {
        let instance = |id: &&str| ProviderInstance {
            id: (*id).to_owned(),
            key: format!("key of {id}"),
            owner: "us".to_owned(),
            state: ProviderState::Ready,
            address: None,
            usd_per_hour: None,
            detail: String::new(),
        };
        ids.iter().map(instance).collect()
    }

    fn at(seconds: u64) -> Moment {
        Moment::from_origin(Duration::from_secs(seconds))
    }

    #[test]
    fn a_list_that_shrinks_by_more_than_half_is_no_information() {
        let mut listing = Listing::default();
        assert!(listing.believes(&list(&["a", "b", "c", "d"]), at(0)));
        assert!(!listing.believes(&list(&["a"]), at(5)));
        assert!(!listing.believes(&list(&[]), at(10)));
        let shrunken = listing.shrunken().unwrap();
        assert_eq!((shrunken.before, shrunken.missing), (4, 4));
        assert!(listing.believes(&list(&["a", "b", "c"]), at(15)));
        assert_eq!(listing.shrunken(), None);
    }

    #[test]
    fn half_fewer_or_one_fewer_is_believed() {
        let mut listing = Listing::default();
        assert!(listing.believes(&list(&["a", "b", "c", "d"]), at(0)));
        assert!(listing.believes(&list(&["a", "b"]), at(5)));
        assert!(listing.believes(&list(&["a"]), at(10)));
        assert!(listing.believes(&list(&[]), at(15)));
    }

    #[test]
    fn what_was_deleted_is_not_missing() {
        let mut listing = Listing::default();
        assert!(listing.believes(&list(&["a", "b", "c"]), at(0)));
        listing.expect_without("a");
        listing.expect_without("b");
        assert!(listing.believes(&list(&["c"]), at(5)));
    }

    #[test]
    fn what_was_deleted_is_not_missing_after_a_list_that_was_asked_for_before() {
        let mut listing = Listing::default();
        listing.expect_without("a");
        listing.expect_without("b");
        assert!(listing.believes(&list(&["a", "b"]), at(1)));
        assert!(listing.believes(&list(&[]), at(2)));
    }

    #[test]
    fn what_began_anew_with_nothing_is_believed() {
        let mut listing = Listing::default();
        listing.begin(1);
        assert!(listing.believes(&list(&["a", "b"]), at(0)));
        listing.begin(1);
        assert!(!listing.believes(&list(&[]), at(5)));
        listing.begin(2);
        assert!(listing.believes(&list(&[]), at(10)));
    }

    #[test]
    fn a_list_that_stays_so_is_believed_in_the_end() {
        let mut listing = Listing::default();
        assert!(listing.believes(&list(&["a", "b"]), at(0)));
        assert!(!listing.believes(&list(&[]), at(5)));
        assert!(!listing.believes(&list(&[]), at(304)));
        assert!(listing.believes(&list(&[]), at(305)));
    }
}
