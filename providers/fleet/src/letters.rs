//! Dead letters, with what this gateway knows of them.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use thermocline_broker::{Burial, DeadLetters};
use thermocline_provider::fleet::{Cause, DeadLetter};
use thermocline_wire::fleet::{Class, Credentials, Failure, Job, Obituary};
use ulid::Ulid;

use crate::hub::Hub;
use crate::lot::Dead;

/// `letters` as the control plane gets them, and those that this gateway writes
/// itself. They end with `letters`.
pub(crate) fn read(hub: Arc<Hub>, letters: DeadLetters) -> BoxStream<'static, DeadLetter> {
    let both = unfold((hub, letters), |(hub, mut letters)| async move {
        let letter = tokio::select! {
            letter = letters.next() => known(&hub, letter?),
            dead = hub.unwritten() => written(&hub, dead),
        };
        Some((letter, (hub, letters)))
    });
    both.boxed()
}

impl Hub {
    /// The next that no worker has written, once there is one.
    async fn unwritten(&self) -> Dead {
        loop {
            if let Some(dead) = self.lot().next_unwritten() {
                return dead;
            }
            self.unwritten.notified().await;
        }
    }
}

/// What a worker would write that was refused the job. One may still: its copy
/// is in the queue, and is the same letter.
fn written(hub: &Arc<Hub>, dead: Dead) -> DeadLetter {
    let job = hub.job(&dead.parked);
    let last = dead.failures.last().cloned();
    let report = last.map(|last| Obituary {
        class: Class::Poison,
        failure: Failure { last: true, ..last },
    });
    let report = report.and_then(|it| serde_json::to_vec(&it).ok());
    let cause = Cause::GivenUp(report.unwrap_or_default().into());
    let known = (dead.failures, Some(dead.parked.request()));
    let (hub, id) = (hub.clone(), job.id.clone());
    let archived = Box::pin(async move { hub.lot().forget_dead(&id) });
    DeadLetter::new(job, cause, dead.attempts, known, archived)
}

fn known(hub: &Arc<Hub>, letter: thermocline_broker::DeadLetter) -> DeadLetter {
    let mut job = job(letter.delivery.body(), letter.queue);
    let delivered = letter.delivery.attempts().saturating_add(1);
    let (mut cause, obituary) = match letter.burial {
        Burial::GivenUp { report } => {
            let read = serde_json::from_slice::<Obituary>(&report);
            (Cause::GivenUp(report), read.ok())
        }
        Burial::Undeliverable => (Cause::Undeliverable, None),
    };
    let dead = {
        let mut lot = hub.lot();
        // Whoever buried it may not have told so here, or have died before.
        lot.buried(&job, obituary.clone(), hub.clock.now());
        lot.dead(&job)
    };
    if let Some(dead) = &dead {
        (job, cause) = told_without(&dead.parked.credentials(), job, (cause, obituary));
    }
    // Who was told of its end, or took it and went, made no attempt.
    let attempts = dead.as_ref().map_or(delivered, |dead| dead.attempts);
    let request = dead.as_ref().map(|dead| dead.parked.request());
    let failures = dead.map(|dead| dead.failures).unwrap_or_default();
    let (hub, id, delivery) = (hub.clone(), job.id.clone(), letter.delivery);
    let archived = Box::pin(async move {
        // Where it was lost it comes again, and is the same letter.
        let _lost = delivery.ack().await;
        hub.lot().forget_dead(&id);
    });
    let known = (failures, request);
    DeadLetter::new(job, cause, attempts, known, archived)
}

/// What a letter says, without what let its client in: not every worker keeps
/// that to itself.
fn told_without(
    credentials: &Credentials,
    job: Job,
    (cause, obituary): (Cause, Option<Obituary>),
) -> (Job, Cause) {
    let failures = job.failures.into_iter();
    let failures = failures.map(|it| it.without(credentials)).collect();
    let obituary = obituary.map(|it| Obituary {
        failure: it.failure.without(credentials),
        ..it
    });
    let report = obituary.and_then(|it| serde_json::to_vec(&it).ok());
    let cause = report.map_or(cause, |report| Cause::GivenUp(report.into()));
    (Job { failures, ..job }, cause)
}

/// The job that a letter of `queue` is. What is none of it gets a name of its
/// own, for people to look at: nobody files letters in another's name.
fn job(body: &[u8], queue: String) -> Job {
    let read = serde_json::from_slice(body).ok();
    read.filter(|job: &Job| job.deployment == queue)
        .unwrap_or_else(|| Job {
            id: Ulid::generate().to_string(),
            deployment: queue,
            remaining_ms: 0,
            reply_to: String::new(),
            ticket: String::new(),
            payload_bytes: 0,
            traceparent: None,
            failures: Vec::new(),
        })
}
