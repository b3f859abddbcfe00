//! Who waits for room, and who makes it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_policy::fleet::Terms;
use thermocline_policy::room::{Claim, Room};

use super::Placement;
use super::books::{Books, Share};

/// A claim that was not asked about for so long is dropped.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(5);
/// A claim that no request has waited for so long is given up.
const UNWANTED_AFTER: Duration = Duration::from_secs(2);

/// What an instance does now, as far as it matters to who makes room.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Activity {
    /// Requests that it has in hand.
    pub(crate) in_flight: u32,
    /// Requests of its deployment that wait.
    pub(crate) waiting: u32,
    /// Arrivals of its deployment in the window.
    pub(crate) uses: f64,
    /// Whether it drains or stops.
    pub(crate) leaving: bool,
}

/// What each instance does, by its id.
pub(crate) type Activities = BTreeMap<String, Activity>;

/// A start that needs room.
pub(crate) struct Ask<'a> {
    pub(crate) deployment: &'a str,
    pub(crate) instance: &'a str,
    pub(crate) terms: &'a Terms,
    /// Whether its requests wait for this machine alone: then others make room.
    pub(crate) alone: bool,
    /// Whether any request waits for it.
    pub(crate) wanted: bool,
}

/// What becomes of an [`Ask`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It may start there.
    Placed(Placement),
    /// It waits; these make room for it from now on.
    Waits(Vec<String>),
    /// There is no room: what it needs and what there is.
    Refused(String),
}

/// The deployments that wait for room, by name.
#[derive(Default)]
pub(super) struct Claims(BTreeMap<String, Waiting>);

struct Waiting {
    since: Moment,
    asked_at: Moment,
    wanted_at: Moment,
    /// What is set aside for it, and who goes for that.
    aside: Option<(Share, BTreeSet<String>)>,
}

impl Claims {
    /// What is set aside for others than `deployment`.
    pub(super) fn aside_of_others(&self, deployment: &str) -> impl Iterator<Item = &Share> {
        let others = self.0.iter().filter(move |(name, _)| *name != deployment);
        others.filter_map(|(_, waiting)| Some(&waiting.aside.as_ref()?.0))
    }

    pub(super) fn shares(&mut self) -> impl Iterator<Item = &mut Share> {
        let waiting = self.0.values_mut();
        waiting.filter_map(|waiting| Some(&mut waiting.aside.as_mut()?.0))
    }

    /// For whom `instance` makes room.
    pub(super) fn makes_room_for(&self, instance: &str) -> Option<&str> {
        let leaves = |waiting: &Waiting| {
            let aside = waiting.aside.as_ref();
            aside.is_some_and(|(_, leaving)| leaving.contains(instance))
        };
        let found = self.0.iter().find(|(_, waiting)| leaves(waiting));
        found.map(|(deployment, _)| deployment.as_str())
    }

    /// Drops what nobody asks about any more.
    pub(super) fn forget(&mut self, now: Moment) {
        self.0
            .retain(|_, waiting| now.since(waiting.asked_at) < FORGOTTEN_AFTER);
    }

    /// Notes that `ask` is made at `now`; since when it waits, or `None` once
    /// nobody has wanted it for a while.
    fn note(&mut self, ask: &Ask, now: Moment) -> Option<&Waiting> {
        let waiting = self.0.entry(ask.deployment.to_owned());
        let waiting = waiting.or_insert(Waiting {
            since: now,
            asked_at: now,
            wanted_at: now,
            aside: None,
        });
        waiting.asked_at = now;
        if ask.wanted {
            waiting.wanted_at = now;
        }
        let wanted = now.since(waiting.wanted_at) < UNWANTED_AFTER;
        wanted.then_some(waiting)
    }
}

impl Books {
    /// Promises room to `ask`, lets it wait, or refuses it.
    pub(crate) fn ask(&mut self, ask: &Ask, activities: &Activities, now: Moment) -> Answer {
        let waits_since = match ask.alone {
            true => self.claims.note(ask, now).map(|waiting| {
                // Once somebody goes for it, nobody else does.
                waiting.aside.is_none().then_some(waiting.since)
            }),
            false => None,
        };
        let claim = Claim {
            terms: ask.terms,
            waits_since: waits_since.flatten(),
        };
        let share = |devices: &[usize]| self.placement(devices, ask.terms.share());
        match self.room(ask.deployment, claim, activities, now) {
            Room::There { devices } => {
                let placement = share(&devices);
                self.claims.0.remove(ask.deployment);
                self.hold(ask.instance, Share::of(placement.clone(), now));
                Answer::Placed(placement)
            }
            Room::Made { devices, leaving } => {
                let leaving: BTreeSet<String> = leaving.into_iter().map(str::to_owned).collect();
                let share = self.placed(Share::of(share(&devices), now));
                if let Some(waiting) = self.claims.0.get_mut(ask.deployment) {
                    waiting.aside = Some((share, leaving.clone()));
                }
                Answer::Waits(leaving.into_iter().collect())
            }
            Room::None { .. } if waits_since.is_some() => Answer::Waits(Vec::new()),
            Room::None { .. } | Room::Never => {
                self.claims.0.remove(ask.deployment);
                Answer::Refused(self.shortage(ask.deployment, ask.terms).to_string())
            }
        }
    }
}
