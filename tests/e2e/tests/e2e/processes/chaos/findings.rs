//! What became of the requests.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::stage::Victim;

/// How one request ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// With its own answer.
    Answered,
    /// With an error that says what it is.
    Refused(String),
    /// With another's answer.
    Misdelivered,
    /// With an error that says nothing.
    Unclear,
    /// Not at all.
    Hung,
}

/// How all of them ended.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) answered: u64,
    /// By status and code.
    pub(super) refused: BTreeMap<String, u64>,
    /// Connections that broke while a client waited; it asked again.
    pub(super) broken_off: u64,
    /// Which they were.
    pub(super) misdelivered: Vec<u64>,
    pub(super) unclear: Vec<u64>,
    pub(super) hung: Vec<u64>,
}

impl Findings {
    pub(super) fn count(&mut self, serial: u64, outcome: Outcome) {
        match outcome {
            Outcome::Answered => self.answered += 1,
            Outcome::Refused(code) => *self.refused.entry(code).or_default() += 1,
            Outcome::Misdelivered => self.misdelivered.push(serial),
            Outcome::Unclear => self.unclear.push(serial),
            Outcome::Hung => self.hung.push(serial),
        }
    }

    pub(super) fn add(&mut self, other: Findings) {
        self.answered += other.answered;
        self.broken_off += other.broken_off;
        for (code, count) in other.refused {
            *self.refused.entry(code).or_default() += count;
        }
        self.misdelivered.extend(other.misdelivered);
        self.unclear.extend(other.unclear);
        self.hung.extend(other.hung);
    }

    /// Requests that ended, however.
    pub(super) fn ended(&self) -> u64 {
        let strange = self.misdelivered.len() + self.unclear.len() + self.hung.len();
        self.answered + self.refused.values().sum::<u64>() + strange as u64
    }
}

/// How soon each was back.
#[derive(Debug, Default)]
pub(super) struct Recoveries(BTreeMap<&'static str, Vec<Duration>>);

impl Recoveries {
    pub(super) fn add(&mut self, victim: Victim, time: Duration) {
        let kind = match victim {
            Victim::Broker => "broker",
            Victim::Worker(_) => "worker",
            Victim::Gateway => "gateway",
        };
        let times = self.0.entry(kind).or_default();
        times.push(time);
        times.sort_unstable();
    }
}

impl fmt::Display for Recoveries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(kind, times)| {
            let (median, most) = (times[times.len() / 2], times[times.len() - 1]);
            let often = times.len();
            writeln!(
                f,
                "{kind}: {often} kills, back after {median:?} (median), {most:?} (most)"
            )
        })
    }
}
