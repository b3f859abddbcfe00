use std::time::Duration;

use bytes::Bytes;
use thermocline_broker::{Delivery, Lost};
use thermocline_policy::Moment;
use thermocline_policy::fleet::{AfterFailure, Attempt, Class, Patience, after_failure};
use thermocline_wire::fleet::{Failure, FailureKind, Job, Obituary, Refusal};

use ulid::Ulid;

use super::claim::NotGranted;
use super::{Bench, Failed, Held};
use crate::event::End;
use crate::gateway::CallError;

/// After which a job whose claim got no clear answer is tried again.
const UNCLEAR_PAUSE: Duration = Duration::from_secs(1);

impl Bench {
    /// Nothing more is to be done: the queue forgets it.
    pub(super) async fn done(&self, delivery: Delivery, end: End) -> End {
        match delivery.ack().await {
            Ok(()) => end,
            // Its answer was given, or is somebody else's; either way it is not ours.
            Err(Lost) if end == End::Answered => End::Answered,
            Err(Lost) => End::Lost,
        }
    }

    /// What is in the queue is no job: a person must look at it.
    pub(super) async fn no_job(&self, delivery: Delivery) -> End {
        let failure = self.failure("", FailureKind::Rejected, None, "this is no job");
        let body = delivery.body().clone();
        self.buried(delivery, body, Class::Deterministic, failure)
            .await
    }

    pub(super) async fn not_granted(&self, held: Held, not: NotGranted) -> End {
        let Held { job, delivery, .. } = held;
        match not {
            NotGranted::Unwanted => self.done(delivery, End::Unwanted).await,
            NotGranted::GiveBack => given_back(delivery, End::GivenBack).await,
            NotGranted::Barred => given_back(delivery, End::Barred).await,
            NotGranted::Capped => given_back(delivery, End::Capped).await,
            NotGranted::Unclear => {
                let body = delivery.body().clone();
                lost_or(delivery.retry(body, UNCLEAR_PAUSE).await, End::Retried)
            }
            NotGranted::Poison => {
                let detail = "two workers died with it in hand";
                let failure = self.failure("", FailureKind::WorkerLost, None, detail);
                self.buried(delivery, body(&job, None), Class::Poison, failure)
                    .await
            }
        }
    }

    /// A granted job has failed: it is tried again, or becomes a dead letter.
    pub(super) async fn failed(
        &self,
        held: Held,
        run: &str,
        failed: Failed,
        deadline: Moment,
    ) -> End {
        let after =
            |job: &Job, held_attempts| self.after(job, held_attempts, held.max_attempts, deadline);
        let attempts = held.delivery.attempts() + 1;
        let (mut job, delivery) = (held.job, held.delivery);
        let kind = failed.kind;
        let mut failure = self.failure(run, kind, failed.status, &failed.detail);
        job.failures.push(Failure {
            run: String::new(),
            ..failure.clone()
        });
        match after(&job, attempts) {
            AfterFailure::Retry { after } => {
                if self.tell(&job, &failure).await == Told::Unwanted {
                    return self.done(delivery, End::Unwanted).await;
                }
                let body = body(&job, Some(self.remaining(deadline)));
                lost_or(delivery.retry(body, after).await, retried(kind))
            }
            AfterFailure::Bury { class } => {
                failure.last = true;
                let body = body(&job, Some(self.remaining(deadline)));
                // First the dead letter: who lost the delivery has nothing to tell.
                let end = self.buried(delivery, body, class, failure.clone()).await;
                if end == End::Buried {
                    let _told = self.tell(&job, &failure).await;
                }
                end
            }
        }
    }

    fn after(&self, job: &Job, attempts: u32, max_attempts: u32, deadline: Moment) -> AfterFailure {
        let history: Vec<Attempt> = job.failures.iter().map(Attempt::from).collect();
        let patience = Patience {
            max_attempts,
            ..self.patience
        };
        let seed = job.id.parse::<Ulid>().map_or(0, |id| id.0 as u64);
        after_failure(
            attempts,
            &history,
            &patience,
            self.remaining(deadline),
            seed,
        )
    }

    async fn buried(&self, delivery: Delivery, body: Bytes, class: Class, failure: Failure) -> End {
        let obituary = Obituary {
            class: class.into(),
            failure: Failure {
                last: true,
                ..failure
            },
        };
        let report = serde_json::to_vec(&obituary).unwrap_or_default();
        lost_or(delivery.bury(body, report.into()).await, End::Buried)
    }

    async fn tell(&self, job: &Job, failure: &Failure) -> Told {
        match self.gateways.failure(job, failure).await {
            Err(CallError::Refused { refusal, .. }) if is_unwanted(refusal) => Told::Unwanted,
            _ => Told::Wanted,
        }
    }

    fn failure(&self, run: &str, kind: FailureKind, status: Option<u16>, detail: &str) -> Failure {
        Failure {
            run: run.to_owned(),
            worker: self.worker.clone(),
            kind,
            status,
            detail: detail.to_owned(),
            last: false,
        }
    }
}

/// Whether anybody still waits for a job that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Wanted,
    Unwanted,
}

const fn is_unwanted(refusal: Refusal) -> bool {
    matches!(
        refusal,
        Refusal::Abandoned
            | Refusal::ClientLeft
            | Refusal::Expired
            | Refusal::Answered
            | Refusal::Superseded
    )
}

/// What tells the agent to look at its memory or its runtime.
const fn retried(kind: FailureKind) -> End {
    match kind {
        FailureKind::OutOfCapacity => End::NoRoom,
        FailureKind::RuntimeDied => End::Died,
        _ => End::Retried,
    }
}

/// The job as it goes back.
fn body(job: &Job, remaining: Option<Duration>) -> Bytes {
    let remaining = remaining.and_then(|left| u64::try_from(left.as_millis()).ok());
    let job = Job {
        remaining_ms: remaining.unwrap_or(job.remaining_ms),
        ..job.clone()
    };
    serde_json::to_vec(&job).unwrap_or_default().into()
}

async fn given_back(delivery: Delivery, end: End) -> End {
    lost_or(delivery.give_back().await, end)
}

fn lost_or(settled: Result<(), Lost>, end: End) -> End {
    settled.map_or(End::Lost, |()| end)
}
