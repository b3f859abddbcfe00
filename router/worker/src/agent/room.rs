//! Whether and how a model would get into memory.

use thermocline_policy::fleet::{Admission, Resident, Want, admit};
use thermocline_wire::fleet::Terms;

use super::Agent;
use super::promise::{Place, Promise};
use crate::demand::Work;
use crate::residents::Announced;

/// Whether a cold queue's model gets into memory.
pub(super) enum Room {
    /// There is work for it, and room once those that can go have gone.
    Now(Promise),
    /// Not yet.
    Later,
    /// It does not fit here.
    Never,
}

/// How a model would get into memory.
pub(super) enum Verdict {
    /// So.
    Place(Place),
    /// Not now.
    Wait,
    /// Not ever.
    Never,
}

impl Agent {
    /// Whether there is room for a cold queue that has work.
    pub(super) fn room_for(&mut self, queue: &str) -> Room {
        let Some((work, terms)) = self.work(queue) else {
            return Room::Later;
        };
        if work.waiting == 0 && !terms.pinned {
            return Room::Later;
        }
        match self.verdict(queue, &terms) {
            Verdict::Never => Room::Never,
            Verdict::Wait => Room::Later,
            Verdict::Place(place) if place.yielding.is_empty() => Room::Now(Promise {
                terms,
                place,
                reply_to: work.reply_to,
            }),
            Verdict::Place(place) => {
                let yielding = place.yielding.iter();
                yielding.for_each(|queue| self.hands.end_runs(queue));
                Room::Later
            }
        }
    }

    pub(super) fn work(&self, queue: &str) -> Option<(Work, Terms)> {
        let work = self.demands.of(queue, self.clock.now())?;
        let terms = work.terms.clone()?;
        Some((work, terms))
    }

    /// How `queue`'s model would get into memory.
    ///
    /// A model that nobody else serves may push others out before their time,
    /// but those that have jobs themselves only when its turn has come.
    pub(super) fn verdict(&self, queue: &str, terms: &Terms) -> Verdict {
        let due = self.due.as_deref() == Some(queue);
        let alone = self.peers.holders(super::look::identity(queue)).is_empty();
        let place = match self.admission(queue, terms, false) {
            Admission::Never => return Verdict::Never,
            admission => Place::of(admission),
        };
        if let Some(place) = place {
            return Verdict::Place(place);
        }
        if !alone && !terms.pinned {
            return Verdict::Wait;
        }
        let forced = Place::of(self.admission(queue, terms, true));
        let may = |place: &Place| due || !place.idle.iter().any(|model| self.has_jobs(model));
        forced.filter(may).map_or(Verdict::Wait, Verdict::Place)
    }

    /// How `queue`'s model would get into memory beside those that room is promised.
    pub(super) fn admission(&self, queue: &str, terms: &Terms, starving: bool) -> Admission<'_> {
        let mut residents = self.views();
        for (other, promise) in &self.promised {
            if other != queue {
                promise.keep(other, &mut residents);
            }
        }
        self.admitted(terms, starving, &residents)
    }

    /// How a starving model would get into memory if nothing ran.
    pub(super) fn admission_once_idle(&self, terms: &Terms) -> Admission<'_> {
        let mut residents = self.views();
        let all = residents.iter_mut();
        all.for_each(|resident| resident.in_flight = 0);
        self.admitted(terms, true, &residents)
    }

    fn admitted<'a>(
        &self,
        terms: &Terms,
        starving: bool,
        residents: &[Resident<'a>],
    ) -> Admission<'a> {
        let want = Want {
            terms: &terms.into(),
            starving,
        };
        let (devices, now) = (self.memory.devices(), self.clock.now());
        admit(&want, &devices, residents, &self.settings.eviction, now)
    }

    pub(super) fn views(&self) -> Vec<Resident<'_>> {
        let half_life = self.settings.eviction.half_life;
        self.residents.views(half_life, |model, entry| {
            let work = self.demands.of(model, self.clock.now());
            let terms = work.as_ref().and_then(|work| work.terms.as_ref());
            let terms = terms.unwrap_or(&entry.terms);
            Announced {
                waiting: self.jobs_waiting(model),
                pinned: terms.pinned,
                preemptible: terms.preemptible,
                elsewhere: self.peers.heat(model, half_life),
                others: self.peers.holders(super::look::identity(model)).len(),
            }
        })
    }

    /// Jobs that wait for `model`: in its queue, and in hand without running.
    fn jobs_waiting(&self, model: &str) -> u32 {
        let queued = self.demands.of(model, self.clock.now());
        let running = self.residents.get(model).map_or(0, |entry| entry.in_flight);
        let held = self.in_hand(model).saturating_sub(running);
        queued.map_or(0, |work| work.waiting) + held
    }

    fn has_jobs(&self, model: &str) -> bool {
        self.jobs_waiting(model) > 0
    }
}
