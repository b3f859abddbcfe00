use std::time::Duration;

use thermocline_broker::Delivery;
use thermocline_wire::fleet::{Claim, Job, Refusal};
use tokio::sync::oneshot;

use super::{Bench, PAUSES};
use crate::event::{Event, Permit};
use crate::gateway::{CallError, Granted};

/// When a claim that is undecided is asked again, where the gateway does not say.
const UNDECIDED_PAUSE: Duration = Duration::from_secs(1);
/// How long it may stay undecided.
const UNDECIDED_LIMIT: Duration = Duration::from_secs(60);

/// What a claim came to.
pub(super) enum Claimed {
    Granted(Box<Granted>),
    Not(NotGranted),
}

/// Why there is nothing to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotGranted {
    /// Nobody wants it: acknowledge it.
    Unwanted,
    /// Two workers died with it in hand.
    Poison,
    /// Nothing was begun: somebody else may.
    GiveBack,
    /// It is not for this worker.
    Barred,
    /// As many others hold its model as may.
    Capped,
    /// Whether it was granted is not known: it must be another attempt.
    Unclear,
}

impl Bench {
    /// Claims `job`, again where that is safe. A claim that takes long holds no permit.
    pub(super) async fn claim(
        &self,
        job: &Job,
        delivery: &Delivery,
        permit: &mut Option<Permit>,
    ) -> Claimed {
        let claim = Claim {
            worker: self.worker.clone(),
            incarnation: self.incarnation.clone(),
            ticket: job.ticket.clone(),
            attempts: delivery.attempts(),
        };
        let limit = self.clock.now() + UNDECIDED_LIMIT;
        let mut pauses = PAUSES.into_iter();
        loop {
            let error = match self.gateways.claim(job, &claim).await {
                Ok(granted) => return Claimed::Granted(Box::new(granted)),
                Err(error) => error,
            };
            let pause = match &error {
                CallError::Refused {
                    refusal: Refusal::Undecided,
                    retry_after,
                } => {
                    let late = self.clock.now() >= limit;
                    (!late).then(|| retry_after.unwrap_or(UNDECIDED_PAUSE))
                }
                CallError::Refused { .. } => None,
                CallError::Unreachable | CallError::Unclear => pauses.next(),
            };
            let Some(pause) = pause else {
                return Claimed::Not(self.without(job, &error).await);
            };
            self.let_go(permit);
            self.clock.sleep(pause).await;
        }
    }

    /// What a claim that failed for good says.
    async fn without(&self, job: &Job, error: &CallError) -> NotGranted {
        match error {
            CallError::Refused { refusal, .. } => match refusal {
                Refusal::Poison => NotGranted::Poison,
                Refusal::Auth | Refusal::Forbidden => NotGranted::Barred,
                Refusal::Undecided => NotGranted::GiveBack,
                Refusal::Capped => NotGranted::Capped,
                Refusal::Abandoned
                | Refusal::ClientLeft
                | Refusal::Expired
                | Refusal::Answered
                | Refusal::Superseded => NotGranted::Unwanted,
            },
            CallError::Unclear => NotGranted::Unclear,
            // A gateway that still announces is alive: it is this worker that does not reach it.
            CallError::Unreachable if self.is_heard_of(&job.reply_to).await => NotGranted::GiveBack,
            CallError::Unreachable => NotGranted::Unwanted,
        }
    }

    async fn is_heard_of(&self, reply_to: &str) -> bool {
        let (answer, answered) = oneshot::channel();
        let reply_to = reply_to.to_owned();
        let _agent_ended = self.events.send(Event::Knows { reply_to, answer });
        answered.await.unwrap_or(false)
    }

    /// Lets others run while this job waits for something.
    pub(super) fn let_go(&self, permit: &mut Option<Permit>) {
        if permit.take().is_some() {
            let _agent_ended = self.events.send(Event::Freed);
        }
    }
}
