use std::collections::BTreeMap;

use thermocline_policy::Moment;

/// What is to happen when, in order; what is not wanted any more is taken off.
pub(super) struct Timetable<T> {
    due: BTreeMap<Appointment, T>,
    serial: u64,
}

/// Names one entry of a [`Timetable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Appointment {
    at: Moment,
    serial: u64,
}

impl<T> Timetable<T> {
    pub(super) fn new() -> Self {
        Timetable {
            due: BTreeMap::new(),
            serial: 0,
        }
    }

    pub(super) fn add(&mut self, at: Moment, what: T) -> Appointment {
        self.serial += 1;
        let serial = self.serial;
        let appointment = Appointment { at, serial };
        self.due.insert(appointment, what);
        appointment
    }

    pub(super) fn cancel(&mut self, appointment: Appointment) {
        self.due.remove(&appointment);
    }

    /// The next moment at which something is due; [`Moment::NEVER`] when nothing is.
    pub(super) fn next(&self) -> Moment {
        self.due
            .first_key_value()
            .map_or(Moment::NEVER, |(appointment, _)| appointment.at)
    }

    /// Takes off the first thing that is due by `now`.
    pub(super) fn pop_due(&mut self, now: Moment) -> Option<T> {
        let first = self.due.first_entry()?;
        (first.key().at <= now).then(|| first.remove())
    }
}
