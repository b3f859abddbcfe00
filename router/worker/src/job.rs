//! One job: claimed, run, answered, and acknowledged last.

mod answer;
mod claim;
mod execute;
mod settle;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use thermocline_broker::{Delivery, Lost};
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use thermocline_policy::fleet::Patience;
use thermocline_wire::fleet::{Credentials, Ending, FailureKind, Job};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::Runtime;
use crate::event::{Assignment, End, Event, Events, Permit};
use crate::gateway::{CallError, Gateways, Granted};
use claim::Claimed;

/// Between tries at a gateway that cannot be reached or understood.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(500)];

/// What every job of a worker has at hand.
pub(crate) struct Bench {
    pub(crate) worker: String,
    pub(crate) incarnation: String,
    pub(crate) clock: Clock,
    pub(crate) gateways: Arc<dyn Gateways>,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) events: Events,
    pub(crate) lease: Option<Duration>,
    pub(crate) patience: Patience,
    /// Jobs that the runtime was asked to run.
    pub(crate) runs: AtomicU64,
}

/// What the work on a granted job came to.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// The result has reached the client.
    Answered,
    /// Nobody wants the result.
    Unwanted,
    /// It failed.
    Failed(Failed),
}

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) kind: FailureKind,
    pub(super) status: Option<u16>,
    pub(super) detail: String,
}

impl Failed {
    /// The same, told without `credentials`: a model may show what it was sent.
    fn without(self, credentials: &Credentials) -> Self {
        let detail = credentials.hidden_in(&self.detail).into_owned();
        Failed { detail, ..self }
    }
}

/// A job in hand.
struct Held {
    job: Job,
    delivery: Delivery,
    max_attempts: u32,
    yields: CancellationToken,
}

impl Bench {
    /// Works on an assigned job until it is settled.
    pub(crate) async fn work(self: Arc<Self>, assignment: Assignment) {
        let Assignment {
            queue,
            delivery,
            permit,
            origin,
            max_attempts,
            yields,
        } = assignment;
        let end = match serde_json::from_slice::<Job>(delivery.body()) {
            Ok(job) if job.deployment == queue => {
                let held = Held {
                    job,
                    delivery,
                    max_attempts,
                    yields,
                };
                self.job(held, permit).await
            }
            _ => self.no_job(delivery).await,
        };
        let _agent_ended = self.events.send(Event::Settled { queue, origin, end });
    }

    async fn job(&self, held: Held, mut permit: Option<Permit>) -> End {
        let claim = self.claim(&held.job, &held.delivery, &mut permit);
        match self.while_ours(&held.delivery, claim).await {
            Err(Lost) => End::Lost,
            Ok(Claimed::Granted(granted)) => self.granted(held, *granted, permit).await,
            Ok(Claimed::Not(not)) => self.not_granted(held, not).await,
        }
    }

    async fn granted(&self, held: Held, granted: Granted, permit: Option<Permit>) -> End {
        let Granted {
            grant,
            payload,
            ending,
        } = granted;
        let job = &held.job;
        let deadline = self.clock.now() + Duration::from_millis(grant.remaining_ms);
        let work = async {
            tokio::select! {
                biased;
                outcome = self.execute(job, &grant, payload, permit) => outcome,
                outcome = self.unwanted(job, ending) => outcome,
                () = self.clock.sleep_until(deadline) => Outcome::Unwanted,
                () = held.yields.cancelled() => yielded(),
            }
        };
        match self.while_ours(&held.delivery, work).await {
            Err(Lost) => End::Lost,
            Ok(Outcome::Answered) => self.done(held.delivery, End::Answered).await,
            Ok(Outcome::Unwanted) => self.done(held.delivery, End::Unwanted).await,
            Ok(Outcome::Failed(failed)) => {
                let failed = failed.without(&Credentials::of(&grant.target, &grant.headers));
                self.failed(held, &grant.run, failed, deadline).await
            }
        }
    }

    /// Ends when nobody wants the result any more. A connection that breaks
    /// says so only if its gateway is gone too.
    async fn unwanted(&self, job: &Job, ending: impl Future<Output = Ending>) -> Outcome {
        match ending.await {
            Ending::Settled => Outcome::Answered,
            Ending::ClientLeft | Ending::Expired | Ending::Superseded => Outcome::Unwanted,
            Ending::Closing => {
                let asked = self.gateways.model(&job.reply_to, &job.deployment).await;
                match asked {
                    Err(CallError::Unreachable) => Outcome::Unwanted,
                    _ => std::future::pending().await,
                }
            }
        }
    }

    /// `work`, as long as the delivery is ours: its lease is renewed in time.
    async fn while_ours<T>(
        &self,
        delivery: &Delivery,
        work: impl Future<Output = T>,
    ) -> Result<T, Lost> {
        tokio::select! {
            biased;
            output = work => Ok(output),
            lost = self.renewals(delivery) => Err(lost),
        }
    }

    async fn renewals(&self, delivery: &Delivery) -> Lost {
        let Some(lease) = self.lease else {
            return std::future::pending().await;
        };
        loop {
            self.clock.sleep(lease / 3).await;
            if let Err(lost) = delivery.renew().await {
                return lost;
            }
        }
    }

    fn remaining(&self, deadline: Moment) -> Duration {
        self.clock.now().until(deadline)
    }
}

/// Preemptible work makes room for other work.
fn yielded() -> Outcome {
    execute::failed(FailureKind::OutOfCapacity, None, "it yielded to other work")
}

/// `detail` as it may stand in a failure: short, and without control characters.
fn tidy(detail: &str) -> String {
    const MOST: usize = 300;
    let plain = detail.chars().filter(|c| !c.is_control());
    plain.take(MOST).collect()
}
