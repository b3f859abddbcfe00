//! Everything that is parked, by job and by queue. Nothing here waits: each
//! request's own task does, and whatever ends it is told through its channels.

mod ended;
mod excused;
mod lost;
mod queues;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use subtle::ConstantTimeEq;
use thermocline_policy::Moment;
use thermocline_provider::fleet::FleetTally;
use thermocline_wire::fleet::{Claim, Class, Ending, Failure, FailureKind, Job, Obituary, Refusal};
use tokio::sync::oneshot;

use crate::course::{Course, Holder, Life, Verdict};
use crate::excuse::{End, Excuse};
use crate::parked::{Parked, Reply};
use ended::Tombstones;
use queues::Queues;
pub(crate) use queues::Standing;

/// What is parked.
pub(crate) struct Lot {
    entries: HashMap<String, Entry>,
    queues: Queues,
    ended: Tombstones,
    dead: HashMap<String, Dead>,
    /// Dead letters that no worker has written.
    unwritten: VecDeque<String>,
    keep_dead: Duration,
    pub(crate) tally: FleetTally,
}

struct Entry {
    parked: Arc<Parked>,
    course: Course,
    stage: Stage,
    /// When it was last claimed.
    granted: Option<Moment>,
    client: Option<oneshot::Sender<Reply>>,
    ending: Option<oneshot::Sender<Ending>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Running,
    /// Its result has begun: there will be no other.
    Answering,
}

/// A claim that was granted.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) parked: Arc<Parked>,
    pub(crate) run: String,
    /// Why the work on it is over, once it is.
    pub(crate) ending: oneshot::Receiver<Ending>,
}

/// A request that became a dead letter, kept until it is archived.
#[derive(Clone)]
pub(crate) struct Dead {
    pub(crate) parked: Arc<Parked>,
    pub(crate) failures: Vec<Failure>,
    pub(crate) attempts: u32,
    until: Moment,
}

impl Entry {
    /// Begins `run`; the one before is told that it is over.
    fn grant(&mut self, run: String, queues: &mut Queues) -> Granted {
        let (tell, ending) = oneshot::channel();
        if let Some(before) = self.ending.replace(tell) {
            let _gone = before.send(Ending::Superseded);
        }
        self.stand(Stage::Running, queues);
        Granted {
            parked: self.parked.clone(),
            run,
            ending,
        }
    }

    fn stand(&mut self, stage: Stage, queues: &mut Queues) {
        let before = std::mem::replace(&mut self.stage, stage);
        match (before == Stage::Waiting, stage == Stage::Waiting) {
            (true, false) => queues.run(&self.parked),
            (false, true) => queues.wait_again(&self.parked),
            _ => {}
        }
    }
}

/// What the client of a request without a further attempt is told.
const fn given_up(poison: bool, kind: FailureKind) -> Excuse {
    match poison {
        true => Excuse::Poison,
        false => Excuse::Failed(kind),
    }
}

impl Lot {
    /// An empty lot that keeps dead letters for `keep_dead`.
    pub(crate) fn new(keep_dead: Duration) -> Self {
        Lot {
            entries: HashMap::new(),
            queues: Queues::default(),
            ended: Tombstones::default(),
            dead: HashMap::new(),
            unwritten: VecDeque::new(),
            keep_dead,
            tally: FleetTally::default(),
        }
    }

    /// Parks a request whose client listens to `client`.
    pub(crate) fn park(&mut self, parked: Arc<Parked>, client: oneshot::Sender<Reply>) {
        self.queues.wait(&parked);
        let entry = Entry {
            parked: parked.clone(),
            course: Course::default(),
            stage: Stage::Waiting,
            granted: None,
            client: Some(client),
            ending: None,
        };
        self.entries.insert(parked.id.clone(), entry);
    }

    /// The deployment of a job, also of one that ended lately.
    pub(crate) fn deployment(&self, id: &str) -> Option<Arc<str>> {
        let parked = self
            .entries
            .get(id)
            .map(|entry| entry.parked.deployment.clone());
        parked.or_else(|| self.ended.deployment(id))
    }

    /// The deployment of a job that is parked.
    pub(crate) fn parked(&self, id: &str) -> Option<Arc<str>> {
        let entry = self.entries.get(id);
        entry.map(|entry| entry.parked.deployment.clone())
    }

    /// Judges a claim by `account`, whose run would be `run`.
    pub(crate) fn claim(
        &mut self,
        id: &str,
        claim: &Claim,
        (account, run): (&str, String),
        now: Moment,
        life: impl Fn(&Holder) -> Life,
    ) -> Result<Granted, Refusal> {
        let Some(entry) = self.entries.get_mut(id) else {
            self.tally.abandoned += 1;
            return Err(self.ended.refusal(id));
        };
        let ticket = entry.parked.ticket.as_bytes();
        if !bool::from(ticket.ct_eq(claim.ticket.as_bytes())) {
            return Err(Refusal::Forbidden);
        }
        if now >= entry.parked.deadline {
            return Err(Refusal::Expired);
        }
        if entry.stage == Stage::Answering {
            return Err(Refusal::Answered);
        }
        let known = entry.course.failures().len();
        let verdict = entry.course.claim(claim, (account, run.clone()), life);
        let deaths = entry.course.failures().len() - known;
        self.tally.deaths += deaths as u64;
        match verdict {
            Verdict::Granted { over } => {
                self.tally.granted += 1;
                self.tally.superseded += u64::from(over.is_some());
                entry.granted = Some(now);
                Ok(entry.grant(run, &mut self.queues))
            }
            Verdict::Refused(Refusal::Poison) => {
                self.give_up(id, Excuse::Poison, now);
                Err(Refusal::Poison)
            }
            Verdict::Refused(refusal) => Err(refusal),
        }
    }

    /// Whether no worker has claimed it yet.
    pub(crate) fn is_waiting(&self, id: &str) -> bool {
        let entry = self.entries.get(id);
        entry.is_some_and(|entry| entry.stage == Stage::Waiting)
    }

    /// The connection of a claim ended at `now`. Unless its result has begun,
    /// the job waits again: its holder may be dead, and nobody else would look.
    pub(crate) fn part(&mut self, id: &str, run: &str, now: Moment) {
        if let Some(entry) = self.entries.get_mut(id)
            && entry.course.part(run, now)
            && entry.stage == Stage::Running
        {
            entry.stand(Stage::Waiting, &mut self.queues);
        }
    }

    /// Takes the result of `run`: whom to tell, when the request arrived, and how
    /// long it had waited for the claim. There will be no other.
    pub(crate) fn answer(
        &mut self,
        id: &str,
        run: &str,
        account: &str,
    ) -> Result<(oneshot::Sender<Reply>, Moment, Duration), Refusal> {
        let entry = self.in_force(id, run, account)?;
        let client = entry.client.take().ok_or(Refusal::Answered)?;
        let arrived = entry.parked.arrived;
        let waited = entry.granted.unwrap_or(arrived).since(arrived);
        self.stand(id, Stage::Answering);
        Ok((client, arrived, waited))
    }

    /// Takes a failure of the run that it names.
    pub(crate) fn fail(
        &mut self,
        id: &str,
        failure: Failure,
        account: &str,
        now: Moment,
    ) -> Result<(), Refusal> {
        if failure.last && self.ended.was_given_up(id, &failure.run) {
            return Ok(()); // its dead letter told it first
        }
        if self.ended.broke_off(id, &failure.run) {
            return Err(Refusal::Answered); // its client was told first
        }
        let entry = self.in_force(id, &failure.run, account)?;
        let (last, kind) = (failure.last, failure.kind);
        entry.course.fail(Failure {
            run: String::new(),
            ..failure.without(&entry.parked.credentials())
        });
        if entry.stage == Stage::Answering {
            // Its client sees the result break off, and nothing can follow it.
            return if last { Ok(()) } else { Err(Refusal::Answered) };
        }
        if let Some(ending) = entry.ending.take() {
            let _gone = ending.send(Ending::Settled);
        }
        let excuse = given_up(entry.course.is_poison(), kind);
        self.stand(id, Stage::Waiting);
        if last {
            self.give_up(id, excuse, now);
        }
        Ok(())
    }

    fn stand(&mut self, id: &str, stage: Stage) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.stand(stage, &mut self.queues);
        }
    }

    fn in_force(&mut self, id: &str, run: &str, account: &str) -> Result<&mut Entry, Refusal> {
        let known = self.entries.get(id);
        if known.is_none_or(|entry| !entry.course.is_in_force(run, account)) {
            self.tally.late += 1;
            return Err(match known {
                Some(_) => Refusal::Superseded,
                None => self.ended.refusal(id),
            });
        }
        self.entries.get_mut(id).ok_or(Refusal::Abandoned)
    }

    /// There will be no further attempt, says the broker: nobody ever settled
    /// it, or a worker gave it up as `obituary` says and has not told it here.
    pub(crate) fn buried(&mut self, job: &Job, obituary: Option<Obituary>, now: Moment) {
        let entry = self.entries.get_mut(&job.id);
        let unanswered = |entry: &&mut Entry| entry.stage != Stage::Answering;
        let Some(entry) = entry.filter(|it| it.parked.is(job)).filter(unanswered) else {
            return;
        };
        let excuse = match &obituary {
            Some(it) => given_up(it.class == Class::Poison, it.failure.kind),
            None => Excuse::Undeliverable,
        };
        let credentials = entry.parked.credentials();
        let last = obituary.map(|it| it.failure.without(&credentials));
        entry.course.note(last);
        self.give_up(&job.id, excuse, now);
    }

    /// Ends a request that becomes a dead letter; its payload is kept for a while.
    fn give_up(&mut self, id: &str, excuse: Excuse, now: Moment) {
        let Some(entry) = self.remove(id, excuse.into()) else {
            return;
        };
        let dead = Dead {
            failures: entry.course.failures().to_vec(),
            attempts: entry.course.attempts().max(1),
            parked: entry.parked,
            until: now + self.keep_dead,
        };
        self.dead.insert(id.to_owned(), dead);
        if let Some(client) = entry.client {
            let _gone = client.send(Reply::Excused(excuse));
        }
    }

    /// The request's own task is over.
    pub(crate) fn leave(&mut self, id: &str, end: End) {
        self.remove(id, end);
    }

    fn remove(&mut self, id: &str, end: End) -> Option<Entry> {
        let mut entry = self.entries.remove(id)?;
        self.tally.count(end.result());
        self.queues.leave(&entry.parked);
        let run = entry.course.run();
        self.ended.note(id, &entry.parked.deployment, end, run);
        if let Some(ending) = entry.ending.take() {
            let _gone = ending.send(ended::ending(end));
        }
        Some(entry)
    }

    /// The dead letter that `job` became, while it is kept.
    pub(crate) fn dead(&self, job: &Job) -> Option<Dead> {
        let dead = self.dead.get(&job.id);
        dead.filter(|dead| dead.parked.is(job)).cloned()
    }

    /// It has been archived.
    pub(crate) fn forget_dead(&mut self, id: &str) {
        self.dead.remove(id);
    }

    /// Lets go of what has been kept for long enough.
    pub(crate) fn tidy(&mut self, now: Moment) {
        self.dead.retain(|_, dead| dead.until > now);
    }

    /// Every queue with something in it, by deployment.
    pub(crate) fn standings(&self, now: Moment) -> HashMap<Arc<str>, Standing> {
        self.queues.standings(now)
    }

    /// Requests that are parked, and how many of them a worker runs.
    pub(crate) fn counts(&self) -> (usize, u64) {
        (self.entries.len(), self.queues.running())
    }
}
