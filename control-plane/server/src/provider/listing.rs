use std::collections::BTreeSet;
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_provider::ProviderInstance;

/// A list that shrank is not believed before it has stayed so for so long,
/// whatever else speaks for it.
const BRAKE: Duration = Duration::from_secs(300);
/// Fewer missing ones are an everyday matter.
const FEWEST: usize = 2;
/// Deleted instances that are remembered.
const MOST_LEAVING: usize = 10_000;

/// A complete list that lacks what there is: suddenly more than half of what
/// there was, or something that the provider itself still knows by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shrunken {
    /// What the last list that was believed had, but for what was deleted or
    /// known to be gone since.
    pub(crate) before: usize,
    /// How many of these are missing.
    pub(crate) missing: usize,
    since: Moment,
}

/// What a provider listed last, as far as it was believed.
#[derive(Debug, Default)]
pub(super) struct Listing {
    ids: BTreeSet<String>,
    /// Those of them that the last list lacks.
    missing: BTreeSet<String>,
    /// Those of them that the provider knew by their id although a list lacked them.
    contradicted: BTreeSet<String>,
    /// What belongs to another provider of the same account.
    anothers: BTreeSet<String>,
    /// What was deleted; a list that was asked for before may still have it.
    leaving: BTreeSet<String>,
    shrunken: Option<Shrunken>,
    /// How often what is behind the provider had begun anew.
    beginnings: u64,
}

impl Listing {
    /// The instance is known to be on its way out: it will be missing.
    pub(super) fn expect_without(&mut self, id: &str) {
        self.forget(id);
        if self.leaving.len() >= MOST_LEAVING {
            self.leaving.clear();
        }
        self.leaving.insert(id.to_owned());
    }

    /// The provider knows the instance by its id, although a list lacked it: no
    /// list without it is believed.
    pub(super) fn contradict(&mut self, id: &str) {
        if !self.leaving.contains(id) {
            self.ids.insert(id.to_owned());
            self.contradicted.insert(id.to_owned());
        }
    }

    /// The instance is known to be gone: it is missed no more.
    pub(super) fn forget(&mut self, id: &str) {
        self.ids.remove(id);
        self.missing.remove(id);
        self.contradicted.remove(id);
    }

    /// What is behind the provider has begun so often: nothing of what there
    /// was before the last time is missed.
    pub(super) fn begin(&mut self, beginnings: u64) {
        if std::mem::replace(&mut self.beginnings, beginnings) != beginnings {
            *self = Listing {
                leaving: std::mem::take(&mut self.leaving),
                beginnings,
                ..Listing::default()
            };
        }
    }

    /// Notes that `anothers` of `seen` are another provider's of the same account:
    /// these are not missed here, also once nobody knows any more whose they were.
    pub(super) fn leave_to_others(
        &mut self,
        seen: &[ProviderInstance],
        mut anothers: BTreeSet<String>,
    ) {
        let still = seen.iter().filter(|it| self.anothers.contains(&it.id));
        anothers.extend(still.map(|it| it.id.clone()));
        self.anothers = anothers;
    }

    /// Whether a complete list of `seen` at `now` is information. One that lacks
    /// too much is none, for however long, until what it lacks is known to be
    /// gone one by one.
    pub(super) fn believes(&mut self, seen: &[ProviderInstance], now: Moment) -> bool {
        let goes = |id| self.leaving.contains(id) || self.anothers.contains(id);
        let stay = seen.iter().filter(|it| !goes(&it.id));
        let ids: BTreeSet<String> = stay.map(|it| it.id.clone()).collect();
        self.contradicted.retain(|id| !ids.contains(id));
        self.missing = self.ids.difference(&ids).cloned().collect();
        let (before, missing) = (self.ids.len(), self.missing.len());
        let sudden = missing >= FEWEST && missing * 2 > before;
        if !sudden && self.contradicted.is_empty() {
            (self.ids, self.shrunken) = (ids, None);
            return true;
        }
        let since = self.shrunken.map_or(now, |shrunken| shrunken.since);
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

    /// Whether the last list lacked it, though one that was believed had it.
    pub(super) fn lacks(&self, id: &str) -> bool {
        self.missing.contains(id) && !self.contradicted.contains(id)
    }

    /// What has to be looked at one by one before a list is believed again, and
    /// whether the brake has held for long enough for a look to say anything.
    pub(super) fn doubtful(&self, now: Moment) -> Option<(Vec<String>, bool)> {
        let shrunken = self.shrunken?;
        let missing = self.missing.iter().cloned().collect();
        Some((missing, now.since(shrunken.since) >= BRAKE))
    }
}

#[cfg(test)]
mod tests;
