//! A gateway without sockets: it parks requests, grants claims and takes results
//! as the protocol says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use sha2::{Digest, Sha256};
use thermocline_broker::{Broker, MemoryBroker, Topic};
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use thermocline_wire::fleet::{
    Access, Claim, Demand, Ending, Failure, Grant, Job, LoadSpan, Model, QueueDemand, Refusal,
    ResultHead, allows,
};
use thermocline_worker::{CallError, Gateways, Granted, Sent};
use tokio::sync::oneshot;

pub(crate) const REPLY_TO: &str = "http://gateway";
/// What each request is authorised by.
pub(crate) const CREDENTIAL: &str = "SentinelToken";

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Result(u16, String),
    Failure(Failure),
}

struct Parked {
    deployment: String,
    payload: String,
    since: Moment,
    deadline: Moment,
    granted: Option<(u32, String)>,
    runs: u32,
    ending: Option<oneshot::Sender<Ending>>,
    left: bool,
    answers: Vec<Answer>,
}

#[derive(Default)]
pub(crate) struct State {
    jobs: BTreeMap<String, Parked>,
    pub(crate) models: BTreeMap<String, Model>,
    sequence: u64,
    /// Claims by what they were answered with.
    pub(crate) refused: BTreeMap<String, u32>,
    /// Workers that are known to have died.
    pub(crate) dead: BTreeSet<String>,
    holders: BTreeMap<String, Vec<String>>,
    /// Workers that cannot reach it.
    pub(crate) cut_off: BTreeSet<String>,
    /// Workers that are to take no more.
    pub(crate) draining: Vec<String>,
    /// The most attempts that a claim was the next of.
    pub(crate) most_attempts: u32,
    /// Workers that a capped deployment is kept for.
    pub(crate) seats: BTreeMap<String, BTreeSet<String>>,
    /// Workers whose token is not known.
    pub(crate) strangers: BTreeSet<String>,
    /// What workers may pull that may not pull everything.
    pub(crate) may_pull: BTreeMap<String, Vec<String>>,
    /// What of the results, as they came, was a load.
    pub(crate) loads_ms: Vec<u64>,
    /// Which load they were answered after, as told.
    pub(crate) loaded: Vec<LoadSpan>,
    /// It does not announce.
    pub(crate) silent: bool,
}

/// One for all workers of a test.
pub(crate) struct Gateway {
    clock: Clock,
    broker: Arc<MemoryBroker>,
    state: Mutex<State>,
}

/// As one worker reaches it.
pub(crate) struct Reached(pub Arc<Gateway>, pub String);

impl Gateway {
    pub(crate) fn new(clock: Clock, broker: Arc<MemoryBroker>) -> Arc<Self> {
        let state = Mutex::default();
        Arc::new(Gateway {
            clock,
            broker,
            state,
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Parks a request, and returns its job's id.
    pub(crate) async fn submit(&self, deployment: &str, payload: &str, within: Duration) -> String {
        let now = self.clock.now();
        let id = ulid::Ulid::generate().to_string();
        let parked = Parked {
            deployment: deployment.to_owned(),
            payload: payload.to_owned(),
            since: now,
            deadline: now + within,
            granted: None,
            runs: 0,
            ending: None,
            left: false,
            answers: Vec::new(),
        };
        self.state().jobs.insert(id.clone(), parked);
        let job = Job {
            id: id.clone(),
            deployment: deployment.to_owned(),
            remaining_ms: within.as_millis() as u64,
            reply_to: REPLY_TO.to_owned(),
            ticket: "ticket".into(),
            payload_bytes: payload.len() as u64,
            traceparent: None,
            failures: Vec::new(),
        };
        let body = serde_json::to_vec(&job).unwrap();
        self.broker.publish(deployment, body.into()).await.unwrap();
        id
    }

    /// Says which queues have work; the whole.
    pub(crate) async fn announce(&self) {
        if self.state().silent {
            return;
        }
        let demand = self.demand();
        let body = serde_json::to_vec(&demand).unwrap();
        self.broker
            .announce(Topic::Demand, body.into())
            .await
            .unwrap();
    }

    fn demand(&self) -> Demand {
        let now = self.clock.now();
        let mut state = self.state();
        state.sequence += 1;
        let queue = |model: &Model| {
            let waits = |job: &&Parked| {
                job.deployment == model.deployment
                    && job.ending.as_ref().is_none_or(oneshot::Sender::is_closed)
                    && job.answers.is_empty()
                    && job.deadline > now
                    && !job.left
            };
            let waiting: Vec<&Parked> = state.jobs.values().filter(waits).collect();
            let oldest = waiting.iter().map(|job| now.since(job.since)).max();
            QueueDemand {
                deployment: model.deployment.clone(),
                waiting: waiting.len() as u32,
                oldest_ms: oldest.unwrap_or_default().as_millis() as u64,
                generation: model.generation.clone(),
                terms: Some(model.terms.clone()),
            }
        };
        Demand {
            gateway: REPLY_TO.to_owned(),
            sequence: state.sequence,
            whole: true,
            valid_ms: 5_000,
            queues: state.models.values().map(queue).collect(),
            draining: state.draining.clone(),
        }
    }

    /// The client of a job leaves.
    pub(crate) fn leave(&self, id: &str) {
        let mut state = self.state();
        let job = state.jobs.get_mut(id).unwrap();
        job.left = true;
        if let Some(ending) = job.ending.take() {
            let _nobody = ending.send(Ending::ClientLeft);
        }
    }

    pub(crate) fn answers(&self, id: &str) -> Vec<Answer> {
        self.state().jobs[id].answers.clone()
    }

    /// The body of the one result that a job has.
    pub(crate) fn result(&self, id: &str) -> Option<String> {
        match &self.answers(id)[..] {
            [] => None,
            [Answer::Result(200, body)] => Some(body.clone()),
            other => panic!("not one result: {other:?}"),
        }
    }

    fn refuse<T>(&self, refusal: Refusal) -> Result<T, CallError> {
        *self
            .state()
            .refused
            .entry(format!("{refusal:?}"))
            .or_default() += 1;
        Err(CallError::Refused {
            refusal,
            retry_after: None,
        })
    }

    fn settle(&self, id: &str, run: &str, answer: Option<Answer>) -> Result<(), Refusal> {
        let mut state = self.state();
        let job = state.jobs.get_mut(id).ok_or(Refusal::Abandoned)?;
        if job.left {
            return Err(Refusal::ClientLeft);
        }
        if !job.answers.is_empty() {
            return Err(Refusal::Answered);
        }
        if run != job.runs.to_string() {
            return Err(Refusal::Superseded);
        }
        job.answers.extend(answer);
        if let Some(ending) = job.ending.take() {
            let _nobody = ending.send(Ending::Settled);
        }
        Ok(())
    }

    fn check(&self, job: &Job, claim: &Claim) -> Result<(), Refusal> {
        let state = self.state();
        let parked = state.jobs.get(&job.id).ok_or(Refusal::Abandoned)?;
        if parked.left {
            return Err(Refusal::ClientLeft);
        }
        if !parked.answers.is_empty() {
            return Err(Refusal::Answered);
        }
        if parked.deadline <= self.clock.now() {
            return Err(Refusal::Expired);
        }
        let seats = state.seats.get(&parked.deployment);
        if seats.is_some_and(|seats| !seats.contains(&claim.worker)) {
            return Err(Refusal::Capped);
        }
        let holders = state.holders.get(&job.id);
        let dead = holders
            .into_iter()
            .flatten()
            .filter(|name| state.dead.contains(*name));
        if dead.count() >= 2 {
            return Err(Refusal::Poison);
        }
        match &parked.granted {
            Some((attempts, holder))
                if claim.attempts < *attempts
                    || (claim.attempts == *attempts && *holder != claim.incarnation) =>
            {
                Err(Refusal::Superseded)
            }
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Gateways for Reached {
    async fn claim(&self, job: &Job, claim: &Claim) -> Result<Granted, CallError> {
        let Reached(gateway, worker) = self;
        if gateway.state().cut_off.contains(worker) {
            return Err(CallError::Unreachable);
        }
        let access = self.access(&job.reply_to).await?;
        if !allows(&access.may_pull, &job.deployment) {
            return gateway.refuse(Refusal::Forbidden);
        }
        if let Err(refusal) = gateway.check(job, claim) {
            return gateway.refuse(refusal);
        }
        let mut state = gateway.state();
        state.most_attempts = state.most_attempts.max(claim.attempts);
        state
            .holders
            .entry(job.id.clone())
            .or_default()
            .push(worker.clone());
        let generation = state.models[&job.deployment].generation.clone();
        let parked = state.jobs.get_mut(&job.id).unwrap();
        parked.granted = Some((claim.attempts, claim.incarnation.clone()));
        parked.runs += 1;
        let (ending, ended) = oneshot::channel();
        if let Some(earlier) = parked.ending.replace(ending) {
            let _nobody = earlier.send(Ending::Superseded);
        }
        let remaining = gateway.clock.now().until(parked.deadline);
        let grant = Grant {
            run: parked.runs.to_string(),
            remaining_ms: remaining.as_millis() as u64,
            method: "POST".into(),
            target: "/infer".into(),
            headers: vec![
                ("content-type".into(), "text/plain".into()),
                ("authorization".into(), format!("Bearer {CREDENTIAL}")),
            ],
            payload_bytes: parked.payload.len() as u64,
            sha256: Sha256::digest(&parked.payload)
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect(),
            generation,
        };
        Ok(Granted {
            grant,
            payload: Bytes::from(parked.payload.clone()),
            ending: async move { ended.await.unwrap_or(Ending::Closing) }.boxed(),
        })
    }

    async fn result(&self, job: &Job, head: &ResultHead, body: Sent) -> Result<(), CallError> {
        let text = match body {
            Sent::Whole(body) => body.to_vec(),
            Sent::Stream(mut stream) => {
                let mut text = Vec::new();
                while let Some(piece) = stream.next().await {
                    text.extend_from_slice(&piece.map_err(|_| CallError::Unclear)?);
                }
                text
            }
        };
        self.0.state().loads_ms.push(head.load_ms);
        self.0.state().loaded.extend(head.loaded);
        let answer = Answer::Result(head.status, String::from_utf8(text).unwrap());
        let settled = self.0.settle(&job.id, &head.run, Some(answer));
        settled.or_else(|refusal| self.0.refuse(refusal))
    }

    async fn failure(&self, job: &Job, failure: &Failure) -> Result<(), CallError> {
        let answer = failure.last.then(|| Answer::Failure(failure.clone()));
        let settled = self.0.settle(&job.id, &failure.run, answer);
        settled.or_else(|refusal| self.0.refuse(refusal))
    }

    async fn model(&self, _: &str, deployment: &str) -> Result<Model, CallError> {
        if self.0.state().cut_off.contains(&self.1) {
            return Err(CallError::Unreachable);
        }
        let model = self.0.state().models.get(deployment).cloned();
        model.ok_or(CallError::Unclear)
    }

    async fn access(&self, _: &str) -> Result<Access, CallError> {
        if self.0.state().strangers.contains(&self.1) {
            return self.0.refuse(Refusal::Auth);
        }
        let may_pull = self.0.state().may_pull.get(&self.1).cloned();
        let may_pull = may_pull.unwrap_or_else(|| vec!["*".to_owned()]);
        Ok(Access { may_pull })
    }
}
