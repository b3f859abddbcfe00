//! A shared fleet without gateways and workers, in the test's hands: what it
//! tells the control plane, and what becomes of replays, is as the test says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use thermocline_provider::ProviderError;
use thermocline_provider::fleet::{
    Cause, DeadLetter, FleetTally, ParkedRequest, Replayed, SeenQueue, SeenWorker, SharedFleet,
};
use thermocline_wire::fleet::{
    Class, Failure, FailureKind, Job, Obituary, Report, Shape, Terms, WorkerState,
};
use tokio::sync::mpsc;

/// A fleet; clones are the same one.
#[derive(Clone, Default)]
pub struct FakeFleet(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    workers: Vec<SeenWorker>,
    queues: Vec<SeenQueue>,
    tally: FleetTally,
    unserved: Option<String>,
    /// Letters that are not archived yet, by job.
    letters: BTreeMap<String, Letter>,
    subscriber: Option<mpsc::UnboundedSender<String>>,
    ends: VecDeque<Result<Replayed, ProviderError>>,
    replayed: Vec<ParkedRequest>,
    draining: Vec<String>,
}

/// A dead letter that a test makes.
#[derive(Debug, Clone)]
pub struct Letter {
    /// The job's id.
    pub id: String,
    /// The deployment.
    pub deployment: String,
    /// What the worker said of it.
    pub class: Class,
    /// Its last failure.
    pub failure: Failure,
    /// Attempts that were made.
    pub attempts: u32,
    /// The request, where the gateway still holds it.
    pub request: Option<ParkedRequest>,
}

impl Letter {
    /// A letter of the job `id` of `m` that failed as `kind` says, three times.
    pub fn new(id: &str, class: Class, kind: FailureKind, detail: &str) -> Self {
        Letter {
            id: id.to_owned(),
            deployment: "m".to_owned(),
            class,
            failure: Failure {
                run: String::new(),
                worker: "w1".to_owned(),
                kind,
                status: None,
                detail: detail.to_owned(),
                last: true,
            },
            attempts: 3,
            request: Some(ParkedRequest {
                deployment: "m".to_owned(),
                method: "POST".to_owned(),
                target: "/v1/run?token=sentinel&n=1".to_owned(),
                headers: vec![
                    ("content-type".to_owned(), "text/plain".to_owned()),
                    ("authorization".to_owned(), "Bearer sentinel".to_owned()),
                ],
                payload: Bytes::from_static(b"the payload"),
            }),
        }
    }

    fn obituary(&self) -> Bytes {
        let obituary = Obituary {
            class: self.class,
            failure: self.failure.clone(),
        };
        serde_json::to_vec(&obituary).expect("it is JSON").into()
    }

    fn job(&self) -> Job {
        Job {
            id: self.id.clone(),
            deployment: self.deployment.clone(),
            remaining_ms: 1_000,
            reply_to: "http://127.0.0.1:8082".to_owned(),
            ticket: "ticket".to_owned(),
            payload_bytes: 11,
            traceparent: None,
            failures: vec![self.failure.clone()],
        }
    }
}

impl FakeFleet {
    /// A queue of `deployment`, where `waiting` jobs wait.
    pub fn queue(&self, deployment: &str, waiting: u32) {
        self.state().queues.push(SeenQueue {
            deployment: deployment.to_owned(),
            waiting,
            oldest: Duration::from_millis(1_500),
            running: 0,
            served_by: Vec::new(),
            held_by: Vec::new(),
            terms: Terms::default(),
        });
    }

    /// So many jobs wait in the queue of `deployment` from now on.
    pub fn waiting(&self, deployment: &str, waiting: u32) {
        let mut state = self.state();
        let queues = state.queues.iter_mut();
        for queue in queues.filter(|queue| queue.deployment == deployment) {
            queue.waiting = waiting;
        }
    }

    /// No worker can serve anything, since `why`.
    pub fn unserved(&self, why: &str) {
        self.state().unserved = Some(why.to_owned());
    }

    /// A worker with two permits, `in_flight` of them in use.
    pub fn worker(&self, name: &str, in_flight: u32) {
        self.worker_that(name, WorkerState::Ready, in_flight);
    }

    /// The same, in `state`.
    pub fn worker_that(&self, name: &str, state: WorkerState, in_flight: u32) {
        let mut fleet = self.state();
        fleet.workers.retain(|worker| worker.report.worker != name);
        fleet.workers.push(SeenWorker {
            report: Report {
                worker: name.to_owned(),
                incarnation: "1".to_owned(),
                sequence: 1,
                valid_ms: 10_000,
                state,
                shape: Shape::Gpu,
                permits: 2,
                in_flight,
                memory_mib: 24_576,
                free_mib: 24_576,
                devices_mib: Vec::new(),
                pinned_mib: Vec::new(),
                resident: Vec::new(),
                subscribed: Vec::new(),
                may_pull: None,
                loads: 7,
                evictions: 5,
                jobs: 100,
                load_rate: 0.4,
            },
            age: Duration::from_millis(200),
        });
    }

    /// How the next replay ends that no end is known of.
    pub fn next_replay(&self, end: Result<Replayed, ProviderError>) {
        self.state().ends.push_back(end);
    }

    /// A job dies.
    pub fn bury(&self, letter: Letter) {
        let mut state = self.state();
        let id = letter.id.clone();
        state.letters.insert(id.clone(), letter);
        if let Some(subscriber) = &state.subscriber {
            // Who does not listen gets it with the next subscription.
            let _ = subscriber.send(id);
        }
    }

    /// How many dead letters nobody has archived.
    pub fn unarchived(&self) -> usize {
        self.state().letters.len()
    }

    /// The workers that are to take no more.
    pub fn draining(&self) -> Vec<String> {
        self.state().draining.clone()
    }

    /// What was put into queues again, in order.
    pub fn replayed(&self) -> Vec<ParkedRequest> {
        self.state().replayed.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn letter(&self, id: &str) -> Option<DeadLetter> {
        let letter = self.state().letters.get(id)?.clone();
        let (fleet, id) = (self.clone(), id.to_owned());
        let archived = async move {
            fleet.state().letters.remove(&id);
        };
        let known = (vec![letter.failure.clone()], letter.request.clone());
        Some(DeadLetter::new(
            letter.job(),
            Cause::GivenUp(letter.obituary()),
            letter.attempts,
            known,
            archived.boxed(),
        ))
    }
}

#[async_trait]
impl SharedFleet for FakeFleet {
    fn workers(&self) -> Vec<SeenWorker> {
        self.state().workers.clone()
    }

    fn queues(&self) -> Vec<SeenQueue> {
        self.state().queues.clone()
    }

    fn unserved(&self, _deployment: &str, _terms: &Terms) -> Option<String> {
        self.state().unserved.clone()
    }

    fn release(&self, _deployment: &str) {}

    fn tally(&self) -> FleetTally {
        self.state().tally
    }

    fn drain(&self, workers: Vec<String>) {
        self.state().draining = workers;
    }

    async fn dead_letters(&self) -> Result<BoxStream<'static, DeadLetter>, ProviderError> {
        let (subscriber, mut inbox) = mpsc::unbounded_channel();
        let mut state = self.state();
        for id in state.letters.keys() {
            // The receiver is ours still.
            let _ = subscriber.send(id.clone());
        }
        state.subscriber = Some(subscriber);
        let fleet = self.clone();
        let letters = futures_util::stream::poll_fn(move |context| inbox.poll_recv(context));
        Ok(letters
            .filter_map(move |id| std::future::ready(fleet.letter(&id)))
            .boxed())
    }

    async fn replay(
        &self,
        request: ParkedRequest,
        _within: Duration,
    ) -> Result<Replayed, ProviderError> {
        let end = {
            let mut state = self.state();
            state.replayed.push(request);
            state.ends.pop_front()
        };
        match end {
            Some(end) => end,
            None => std::future::pending().await,
        }
    }
}
