//! What the agent hears, from wherever it happens.

use bytes::Bytes;
use thermocline_broker::Delivery;
use thermocline_policy::Moment;
use thermocline_wire::fleet::{Access, Model};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio_util::sync::CancellationToken;

use crate::LoadError;
use crate::gateway::CallError;

/// A permit to run one job.
pub(crate) type Permit = OwnedSemaphorePermit;

/// What brings jobs: looks into queues, which are 0, or one subscription.
pub(crate) type Origin = u64;

/// Where events go. What is on its way is bounded: by permits, by prefetch, by
/// one load of a model at a time.
pub(crate) type Events = UnboundedSender<Event>;

/// One thing that happened.
pub(crate) enum Event {
    /// A subscription brought a job.
    Delivered {
        queue: String,
        origin: Origin,
        delivery: Delivery,
    },
    /// A queue was looked into.
    Taken {
        queue: String,
        delivery: Option<Delivery>,
        permit: Option<Permit>,
    },
    /// A claimed job wants its model.
    Wants(Wish),
    /// A job has ended its run on a model.
    Done { deployment: String },
    /// Whoever waits for a permit may look again.
    Freed,
    /// A job is settled.
    Settled {
        queue: String,
        origin: Origin,
        end: End,
    },
    /// A load has ended.
    Loaded {
        deployment: String,
        result: Result<Model, LoadError>,
    },
    /// A model went, or would not.
    Unloaded { deployment: String, gone: bool },
    /// An earlier life left something running; told once it is decided what of it is adopted.
    Left(oneshot::Sender<()>),
    /// The runtime was looked at.
    Runtime(Seen),
    /// A gateway announced.
    Demand(Bytes),
    /// A worker reported.
    Report(Bytes),
    /// What a gateway said of this worker's token.
    Access {
        reply_to: String,
        answer: Result<Access, CallError>,
    },
    /// Whether a gateway is heard of.
    Knows {
        reply_to: String,
        answer: oneshot::Sender<bool>,
    },
}

/// What a look at the runtime showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Whether it lives.
    pub(crate) alive: bool,
    /// Models that it should hold, and does not.
    pub(crate) dead: Vec<String>,
}

/// A job that the agent assigns.
pub(crate) struct Assignment {
    pub(crate) queue: String,
    pub(crate) delivery: Delivery,
    /// With one, the model is ready.
    pub(crate) permit: Option<Permit>,
    /// What brought it.
    pub(crate) origin: Origin,
    /// Attempts in all, by the deployment's terms.
    pub(crate) max_attempts: u32,
    /// Ends the run: other work needs the memory.
    pub(crate) yields: CancellationToken,
}

/// A claimed job's wish for its model.
pub(crate) struct Wish {
    pub(crate) deployment: String,
    /// The generation that must answer.
    pub(crate) generation: String,
    /// The gateway that knows the model.
    pub(crate) reply_to: String,
    /// Told once the model is ready, or will not be.
    pub(crate) answer: oneshot::Sender<Result<Run, LoadError>>,
    /// When it was wished.
    pub(crate) since: Moment,
    /// Whether the model was not ready then.
    pub(crate) waits: bool,
}

/// A run on a model; the agent is told when it ends.
pub(crate) struct Run {
    deployment: String,
    /// Whether it had to wait for the model.
    pub(crate) waited: bool,
    /// When the model's loading began, and when it ended.
    pub(crate) loaded: (Moment, Moment),
    events: Events,
}

impl Run {
    pub(crate) fn new(
        deployment: &str,
        waited: bool,
        loaded: (Moment, Moment),
        events: Events,
    ) -> Self {
        Run {
            deployment: deployment.to_owned(),
            waited,
            loaded,
            events,
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let deployment = std::mem::take(&mut self.deployment);
        let _agent_ended = self.events.send(Event::Done { deployment });
    }
}

/// How a job ended, for the books and for what to do with its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The client has its answer.
    Answered,
    /// Nobody waited any more: dropped.
    Unwanted,
    /// The worker lost it to another.
    Lost,
    /// It failed, and will be tried again.
    Retried,
    /// It failed, and is a dead letter.
    Buried,
    /// Its model could not be loaded here now.
    NoRoom,
    /// The process that ran it died.
    Died,
    /// It was not begun: back in its queue.
    GivenBack,
    /// Its gateway does not let this worker have it.
    Barred,
    /// As many other workers hold its model as may.
    Capped,
}
