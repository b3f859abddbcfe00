//! One job's attempts: who holds it, and who died with it.
//!
//! A claim is granted once per attempt, to its holder again if it asks again,
//! and the run that it begins is over when a later one begins. A job that the queue
//! delivers once more, as when the broker was away, waits for the run of a holder that
//! is connected and reports. The gateway alone can tell a holder that died from one
//! that only lost its connection: by whether its reports go on. Two deaths are
//! poison; while a second one is possible and not known, a third holder waits.

use std::collections::BTreeSet;

use thermocline_policy::Moment;
use thermocline_wire::fleet::{Claim, Failure, FailureKind, Refusal};

/// Deaths that make a job poison.
const POISON: usize = 2;

/// Who holds a job, or held it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) run: String,
    pub(crate) worker: String,
    pub(crate) incarnation: String,
    /// The account that claimed it.
    pub(crate) account: String,
    /// When its claim's connection ended; `None` while it is open.
    pub(crate) parted: Option<Moment>,
}

impl Holder {
    /// The one life of its worker that it belongs to.
    fn incarnate(&self) -> String {
        format!("{} {}", self.worker, self.incarnation)
    }
}

/// Whether a holder lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Lives,
    /// It has died; where its connection is open it may be only silent.
    Died,
    /// It has not reported since its connection ended, or since reports are heard, and
    /// is not due yet.
    Unknown,
}

/// What a claim was answered with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is granted; the run that was in force is over.
    Granted {
        over: Option<Holder>,
    },
    Refused(Refusal),
}

/// One job's attempts.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// Attempts below this have been granted.
    next: u32,
    /// Attempts that were granted.
    runs: u32,
    holder: Option<Holder>,
    /// Holders whose connection ended with the job in hand, and of whom no more is known.
    lost: Vec<Holder>,
    /// Who died with it: a worker's process, or the runtime on a worker.
    deaths: BTreeSet<String>,
    failures: Vec<Failure>,
}

impl Course {
    /// What went wrong so far, oldest first.
    pub(crate) fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Attempts that were granted: those of workers that could not load the
    /// model and those that died too, and none for who only asks.
    pub(crate) fn attempts(&self) -> u32 {
        self.runs
    }

    /// The run in force.
    pub(crate) fn run(&self) -> Option<String> {
        self.holder.as_ref().map(|holder| holder.run.clone())
    }

    /// Whether two holders died with it.
    pub(crate) fn is_poison(&self) -> bool {
        self.deaths.len() >= POISON
    }

    /// Judges a claim by `account`, whose run would be `run`; `life` tells of holders.
    pub(crate) fn claim(
        &mut self,
        claim: &Claim,
        (account, run): (&str, String),
        life: impl Fn(&Holder) -> Life,
    ) -> Verdict {
        if claim.attempts < self.next && !self.is_repeated(claim, account) {
            return Verdict::Refused(Refusal::Superseded);
        }
        self.resolve(&life);
        // Who asks again lives.
        let holder = self.holder.as_ref();
        let other = holder.filter(|_| !self.is_repeated(claim, account));
        if other.is_some_and(|it| it.parted.is_none() && life(it) != Life::Died) {
            return Verdict::Refused(Refusal::Undecided);
        }
        let last = other.filter(|it| it.parted.is_some()).map(&life);
        if last == Some(Life::Died) {
            self.bury_holder();
        }
        if self.is_poison() {
            return Verdict::Refused(Refusal::Poison);
        }
        let possible = self.lost.len() + usize::from(last == Some(Life::Unknown));
        if self.deaths.len() + possible >= POISON {
            return Verdict::Refused(Refusal::Undecided);
        }
        self.runs += u32::from(!self.is_repeated(claim, account));
        let over = self.holder.take();
        self.lost
            .extend(over.clone().filter(|_| last == Some(Life::Unknown)));
        self.next = claim.attempts.saturating_add(1);
        self.holder = Some(Holder {
            run,
            worker: claim.worker.clone(),
            incarnation: claim.incarnation.clone(),
            account: account.to_owned(),
            parted: None,
        });
        Verdict::Granted { over }
    }

    /// Whether the holder asks again: the grant may not have reached it.
    fn is_repeated(&self, claim: &Claim, account: &str) -> bool {
        self.holder.as_ref().is_some_and(|holder| {
            claim.attempts.saturating_add(1) == self.next
                && (holder.worker == claim.worker && holder.incarnation == claim.incarnation)
                && holder.account == account
        })
    }

    /// Whether two holders have died with it, for nobody may be left to claim
    /// it. As long as they have not, nothing is held against any.
    pub(crate) fn is_lost(&mut self, life: impl Fn(&Holder) -> Life) -> bool {
        let parted = self.holder.iter().filter(|holder| holder.parted.is_some());
        let died = self.lost.iter().chain(parted);
        let died = died.filter(|holder| life(holder) == Life::Died);
        let names: BTreeSet<String> = died.map(Holder::incarnate).collect();
        if names.is_empty() || self.deaths.union(&names).count() < POISON {
            return false;
        }
        self.resolve(&life);
        if self
            .holder
            .as_ref()
            .is_some_and(|it| names.contains(&it.incarnate()))
        {
            self.bury_holder();
        }
        true
    }

    /// The connection of a claim ended at `now`; whether its run is in force.
    pub(crate) fn part(&mut self, run: &str, now: Moment) -> bool {
        let holder = self.holder.as_mut().filter(|h| h.run == run);
        holder.map(|h| h.parted.get_or_insert(now)).is_some()
    }

    /// Whether `run` of `account` is the one in force.
    pub(crate) fn is_in_force(&self, run: &str, account: &str) -> bool {
        let holder = self.holder.as_ref();
        holder.is_some_and(|h| h.run == run && h.account == account)
    }

    /// The run in force failed: the job waits for another attempt, and may be
    /// claimed again under the same count if it is given back.
    pub(crate) fn fail(&mut self, failure: Failure) {
        if failure.kind == FailureKind::RuntimeDied {
            self.deaths.insert(format!("runtime of {}", failure.worker));
        }
        self.failures.push(failure);
        self.next = self.next.saturating_sub(1);
        self.holder = None;
    }

    /// Notes the failure that ended the job, if it is known.
    pub(crate) fn note(&mut self, failure: Option<Failure>) {
        self.failures.extend(failure);
    }

    /// Sorts out who of those that were lost lives and who died.
    fn resolve(&mut self, life: &impl Fn(&Holder) -> Life) {
        for holder in std::mem::take(&mut self.lost) {
            match life(&holder) {
                Life::Lives => {}
                Life::Died => self.note_death(&holder),
                Life::Unknown => self.lost.push(holder),
            }
        }
    }

    fn bury_holder(&mut self) {
        if let Some(holder) = self.holder.take() {
            self.note_death(&holder);
        }
    }

    fn note_death(&mut self, holder: &Holder) {
        self.deaths.insert(holder.incarnate());
        self.failures.push(Failure {
            run: String::new(),
            worker: holder.worker.clone(),
            kind: FailureKind::WorkerLost,
            status: None,
            detail: "its reports stopped with the job in hand".to_owned(),
            last: false,
        });
    }
}

#[cfg(test)]
mod tests;
