//! The fleet as the control plane reads it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use thermocline_broker::Burial;
use thermocline_provider::fleet::{
    Cause, DeadLetter, FleetTally, ParkedRequest, Replayed, SeenQueue, SeenWorker, SharedFleet,
};
use thermocline_provider::{ProviderError, ProviderErrorKind};
use thermocline_wire::fleet::Job;
use ulid::Ulid;

use crate::access::secret;
use crate::answer::Stay;
use crate::hub::Hub;
use crate::parked::{Parked, Reply};
use crate::payload;
use crate::provider::Fleet;
use crate::tally::Ended;

#[async_trait]
impl SharedFleet for Fleet {
    fn workers(&self) -> Vec<SeenWorker> {
        self.hub.sightings().workers(self.hub.clock.now())
    }

    fn queues(&self) -> Vec<SeenQueue> {
        let now = self.hub.clock.now();
        let standings: HashMap<_, _> = self.hub.lot().standings(now);
        let models: Vec<_> = self.hub.deployments().models().cloned().collect();
        let around = self.hub.sightings().around_each(now);
        let queues = models.iter().map(|model| {
            let standing = standings.get(model.deployment.as_str());
            let standing = standing.copied().unwrap_or_default();
            let around = around.get(&model.deployment).cloned().unwrap_or_default();
            SeenQueue {
                deployment: model.deployment.clone(),
                waiting: standing.waiting,
                oldest: standing.oldest,
                running: standing.running,
                served_by: around.serve,
                held_by: around.hold,
                terms: model.terms.clone(),
            }
        });
        queues.collect()
    }

    fn tally(&self) -> FleetTally {
        let lot = self.hub.lot();
        let (parked, running) = lot.counts();
        FleetTally {
            parked: parked as u64,
            running,
            held_bytes: self.hub.lounge.held_bytes(),
            ..lot.tally
        }
    }

    async fn dead_letters(&self) -> Result<BoxStream<'static, DeadLetter>, ProviderError> {
        let letters = self.hub.broker.dead_letters().await;
        let letters = letters.map_err(|error| unavailable(&error))?;
        let hub = self.hub.clone();
        let read = letters.filter_map(move |letter| read(hub.clone(), letter));
        Ok(read.boxed())
    }

    async fn replay(
        &self,
        request: ParkedRequest,
        within: Duration,
    ) -> Result<Replayed, ProviderError> {
        let full =
            |_| ProviderError::new(ProviderErrorKind::RateLimited(None), "too much is parked");
        let place = self.hub.lounge.enter().map_err(full)?;
        let full =
            |_| ProviderError::new(ProviderErrorKind::RateLimited(None), "too much is parked");
        let payload = payload::whole(request.payload, &self.hub.lounge).map_err(full)?;
        let now = self.hub.clock.now();
        let parked = Parked {
            id: Ulid::generate().to_string(),
            deployment: request.deployment.into(),
            ticket: secret(),
            method: request.method,
            target: request.target,
            headers: request.headers,
            payload,
            traceparent: None,
            arrived: now,
            deadline: now + within,
        };
        let mut stay = Stay::new(self.hub.clone(), &parked, place);
        let replayed = self.hub.replay(parked, &mut stay).await;
        replayed.ok_or_else(|| {
            ProviderError::new(
                ProviderErrorKind::Unavailable,
                "the queue cannot be reached",
            )
        })
    }
}

impl Hub {
    async fn replay(&self, parked: Parked, stay: &mut Stay) -> Option<Replayed> {
        let deadline = parked.deadline;
        let reply = self.clock.timeout_at(deadline, self.reply(parked)).await;
        let (replayed, ended) = match reply {
            Err(_) => (Some(Replayed::Expired), Ended::Expired),
            Ok(None) => (None, Ended::Withdrawn),
            Ok(Some(Reply::Answer(mut answer))) => {
                let status = answer.head.status;
                // Nobody reads it; the worker is to know that it was taken.
                while let Ok(Some(Ok(_))) =
                    self.clock.timeout_at(deadline, answer.body.recv()).await
                {}
                let _gone = answer.taken.send(());
                (Some(Replayed::Answered(status)), Ended::Answered)
            }
            Ok(Some(Reply::Failed(kind))) => (Some(Replayed::Failed(kind)), Ended::Failed),
            Ok(Some(Reply::Poison)) => (Some(Replayed::Poison), Ended::Poison),
            Ok(Some(Reply::Undeliverable | Reply::Withdrawn)) => {
                (Some(Replayed::Withdrawn), Ended::Withdrawn)
            }
        };
        stay.ended = Some(ended);
        replayed
    }
}

/// A dead letter with what is known of it here; one that cannot be read is
/// nobody's, and acknowledged.
async fn read(hub: Arc<Hub>, letter: thermocline_broker::DeadLetter) -> Option<DeadLetter> {
    let Ok(job) = serde_json::from_slice::<Job>(letter.delivery.body()) else {
        tracing::warn!(queue = letter.queue, "a dead letter is no job");
        let _lost = letter.delivery.ack().await;
        return None;
    };
    let attempts = letter.delivery.attempts();
    let cause = match letter.burial {
        Burial::GivenUp { report } => Cause::GivenUp(report),
        Burial::Undeliverable => {
            hub.lot().undeliverable(&job.id, hub.clock.now());
            Cause::Undeliverable
        }
    };
    let dead = hub.lot().dead(&job.id);
    let known = dead.map(|dead| (dead.failures, dead.attempts, dead.parked.request()));
    let (failures, made, request) = known
        .map_or((Vec::new(), 0, None), |(failures, made, request)| {
            (failures, made, Some(request))
        });
    let id = job.id.clone();
    let archived = Box::pin(async move {
        // Lost: it comes again, and is archived under the same id.
        let _lost = letter.delivery.ack().await;
        hub.lot().forget_dead(&id);
    });
    let attempts = attempts.saturating_add(1).max(made);
    Some(DeadLetter::new(
        job,
        cause,
        attempts,
        (failures, request),
        archived,
    ))
}

fn unavailable(error: &thermocline_broker::BrokerError) -> ProviderError {
    tracing::debug!(%error, "dead letters cannot be had");
    ProviderError::new(
        ProviderErrorKind::Unavailable,
        "the broker cannot be reached",
    )
}
