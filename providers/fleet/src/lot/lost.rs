use thermocline_policy::Moment;

use super::{Dead, Lot, Stage};
use crate::course::{Holder, Life};
use crate::excuse::Excuse;

impl Lot {
    /// Gives up every request with which two holders have died, whether or not
    /// a worker is left to claim it; whether there was one.
    pub(crate) fn give_up_lost(&mut self, now: Moment, life: impl Fn(&Holder) -> Life) -> bool {
        let mut lost = Vec::new();
        for (id, entry) in &mut self.entries {
            let known = entry.course.failures().len();
            if entry.stage != Stage::Answering && entry.course.is_lost(&life) {
                self.tally.deaths += (entry.course.failures().len() - known) as u64;
                lost.push(id.clone());
            }
        }
        for id in &lost {
            self.give_up(id, Excuse::Poison, now);
        }
        self.unwritten.extend(lost.iter().cloned());
        !lost.is_empty()
    }

    /// The next dead letter that nobody but this gateway knows of.
    pub(crate) fn next_unwritten(&mut self) -> Option<Dead> {
        let dead = |id: String| self.dead.get(&id).cloned();
        std::iter::from_fn(|| self.unwritten.pop_front()).find_map(dead)
    }
}
