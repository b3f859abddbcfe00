//! The one task that decides: which queues are served, which models are held,
//! which job is next. Everything that takes time runs in tasks of its own, and
//! comes back as an [`Event`].

mod access;
mod adopt;
mod avoid;
mod hands;
mod hear;
mod load;
mod look;
mod prewarm;
mod promise;
mod pull;
mod report;
mod room;
mod serve;
mod turns;
mod watch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use thermocline_broker::{Broker, Delivery};
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use thermocline_policy::fleet::{Bucket, Regroup};
use thermocline_wire::fleet::WorkerState;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Semaphore, watch as channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::demand::Demands;
use crate::event::{Event, Events, Origin, Wish};
use crate::job::Bench;
use crate::peers::Peers;
use crate::residents::Residents;
use crate::trouble::Trouble;
use crate::{Memory, Runtime, Settings};
use access::Accesses;
use adopt::Adoption;
use avoid::Avoided;
use hands::Hands;
use prewarm::Start;
use promise::Promise;
use serve::Served;

/// How long jobs may take to get back to their queues at the end.
const RETURN_WITHIN: Duration = Duration::from_secs(5);
/// How long what an earlier life left may take to be gone at the end.
const CLEAR_WITHIN: Duration = Duration::from_secs(30);

/// What keeps a worker from taking jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing.
    Taking,
    /// Its runtime is down.
    Down,
    /// A gateway wants it to take no more, until it does not.
    Resting,
    /// No gateway knows its token.
    Barred,
    /// It ends what it has, and then itself.
    Draining,
}

/// A delivery that waits for a permit.
struct Waiting {
    queue: String,
    origin: Origin,
    delivery: Delivery,
    since: Moment,
}

/// The state of one worker, owned by its task.
pub(crate) struct Agent {
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) broker: Arc<dyn Broker>,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) memory: Arc<dyn Memory>,
    pub(crate) bench: Arc<Bench>,
    pub(crate) state: channel::Sender<WorkerState>,
    events: Events,
    phase: Phase,
    /// Until it has loaded what the fleet uses most.
    start: Option<Start>,
    /// Until it is decided what of an earlier life is adopted.
    adoption: Option<Adoption>,
    /// What gateways say of its token.
    access: Accesses,
    demands: Demands,
    peers: Peers,
    residents: Residents,
    served: BTreeMap<String, Served>,
    hands: Hands,
    last_served: BTreeMap<String, Moment>,
    wishes: BTreeMap<String, Vec<Wish>>,
    /// Queues that went badly a moment ago.
    avoided: BTreeMap<String, Avoided>,
    /// Models that enough other workers hold: they go once they have no job.
    surplus: BTreeSet<String>,
    waiting: VecDeque<Waiting>,
    cold: Bucket,
    /// Since when no permit has been free.
    busy_since: Option<Moment>,
    /// Whether subscriptions rest, since jobs are taken one by one.
    paused: bool,
    /// The queue whose turn has come, though others that hold the memory have jobs.
    due: Option<String>,
    regroup: Regroup,
    /// Since when the first job of each queue waits.
    firsts: BTreeMap<String, Moment>,
    /// Those that begin nothing new for its sake.
    making_room: BTreeSet<String>,
    /// Whether something changed that cold queues wait for.
    cold_changed: bool,
    /// The queues that are being looked into.
    taking: BTreeSet<String>,
    /// With looking into queues.
    trouble: Trouble,
    /// The room of cold queues that are looked into, or whose job is in hand.
    promised: BTreeMap<String, Promise>,
    report: report::Reporting,
    /// Subscriptions so far.
    subscriptions: Origin,
    /// Everything that takes time; ends with the agent.
    tasks: JoinSet<()>,
    /// Deliveries on their way back; the agent ends after them.
    returns: JoinSet<()>,
    next_look: Moment,
    next_report: Moment,
}

impl Agent {
    pub(crate) fn new(
        parts: crate::Parts,
        bench: Arc<Bench>,
        state: channel::Sender<WorkerState>,
    ) -> Self {
        let now = parts.clock.now();
        let (burst, every) = parts.settings.cold;
        let regroup = Regroup::new(parts.settings.regroup);
        let heard_by = now + parts.settings.report_every * 2;
        Agent {
            report: report::Reporting::new(&parts.settings, &bench.incarnation, &*parts.memory),
            cold: Bucket::new(every, burst),
            settings: parts.settings,
            clock: parts.clock,
            broker: parts.broker,
            runtime: parts.runtime,
            memory: parts.memory,
            events: bench.events.clone(),
            bench,
            state,
            phase: Phase::Down,
            start: Some(Start::Listening(heard_by)),
            adoption: None,
            access: Accesses::default(),
            demands: Demands::default(),
            peers: Peers::default(),
            residents: Residents::default(),
            served: BTreeMap::new(),
            hands: Hands::default(),
            last_served: BTreeMap::new(),
            wishes: BTreeMap::new(),
            avoided: BTreeMap::new(),
            surplus: BTreeSet::new(),
            waiting: VecDeque::new(),
            busy_since: None,
            paused: false,
            due: None,
            regroup,
            firsts: BTreeMap::new(),
            making_room: BTreeSet::new(),
            cold_changed: false,
            taking: BTreeSet::new(),
            trouble: Trouble::default(),
            promised: BTreeMap::new(),
            subscriptions: 0,
            tasks: JoinSet::new(),
            returns: JoinSet::new(),
            next_look: now,
            next_report: now,
        }
    }

    /// Works until `drain` says so, and then until what is in hand has ended.
    pub(crate) async fn run(
        mut self,
        mut heard: UnboundedReceiver<Event>,
        drain: CancellationToken,
    ) {
        self.listen();
        self.watch_runtime();
        while !self.is_over() {
            tokio::select! {
                biased;
                () = drain.cancelled(), if self.phase != Phase::Draining => self.begin_drain(),
                event = heard.recv() => match event {
                    Some(event) => self.handle(event),
                    None => break,
                },
                () = self.clock.sleep_until(self.next_look) => self.look(),
                () = self.clock.sleep_until(self.next_report) => self.report_now(),
                () = self.clock.sleep_until(self.next_moment()) => {}
            }
            self.pull();
            self.report_changes();
        }
        self.give_back_unheard(heard);
        self.end().await;
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Delivered {
                queue,
                origin,
                delivery,
            } => self.delivered(queue, origin, delivery),
            Event::Taken {
                queue,
                delivery,
                permit,
            } => self.taken(queue, delivery, permit),
            Event::Wants(wish) => self.wanted(wish),
            Event::Done { deployment } => self.run_ended(&deployment),
            Event::Freed => {}
            Event::Settled { queue, origin, end } => self.settled(&queue, origin, end),
            Event::Loaded { deployment, result } => self.loaded(&deployment, result),
            Event::Unloaded { deployment, gone } => self.unloaded(&deployment, gone),
            Event::Left(decided) => self.await_gateways(decided),
            Event::Runtime(seen) => self.runtime_seen(seen),
            Event::Demand(body) => self.hear_demand(&body),
            Event::Report(body) => self.hear_report(&body),
            Event::Access { reply_to, answer } => self.access_told(reply_to, answer),
            Event::Knows { reply_to, answer } => {
                let _asker_left = answer.send(self.demands.knows(&reply_to, self.clock.now()));
            }
        }
    }

    fn begin_drain(&mut self) {
        tracing::info!("draining: what is in hand ends");
        self.phase = Phase::Draining;
        self.stop_taking();
    }

    /// Whether it has drained.
    fn is_over(&self) -> bool {
        self.phase == Phase::Draining && self.hands.is_empty() && self.taking.is_empty()
    }

    /// What was delivered and not looked at goes back: it was not begun.
    fn give_back_unheard(&mut self, mut heard: UnboundedReceiver<Event>) {
        heard.close();
        while let Ok(event) = heard.try_recv() {
            match event {
                Event::Delivered { delivery, .. } => self.give_back(delivery),
                Event::Taken {
                    delivery: Some(delivery),
                    ..
                } => self.give_back(delivery),
                _ => {}
            }
        }
    }

    /// Lets everything go, once what goes back has got there, and says the last word.
    async fn end(mut self) {
        let returned = async { while self.returns.join_next().await.is_some() {} };
        let limit = self.clock.now() + RETURN_WITHIN;
        if self.clock.timeout_at(limit, returned).await.is_err() {
            tracing::warn!("jobs did not get back to their queues; they count an attempt more");
        }
        self.tasks.shutdown().await;
        self.announce_state().await;
        if !self.settings.keep_models {
            self.unload_all().await;
            self.clear_left().await;
        }
        self.announce_end().await;
    }

    async fn unload_all(&self) {
        let held: Vec<String> = self
            .residents
            .iter()
            .map(|(name, _)| name.to_owned())
            .collect();
        let unloads = held
            .iter()
            .map(|deployment| self.runtime.unload(deployment));
        for error in join_all(unloads).await.into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "a model was not unloaded; the next start clears it");
        }
    }

    /// It may end before it was decided what of an earlier life is adopted.
    async fn clear_left(&self) {
        let limit = self.clock.now() + CLEAR_WITHIN;
        let cleared = self.clock.timeout_at(limit, self.runtime.clear()).await;
        if !matches!(cleared, Ok(Ok(()))) {
            tracing::warn!("something may be left running; the next start clears it");
        }
    }

    fn permits(&self) -> &Arc<Semaphore> {
        &self.bench.permits
    }
}
