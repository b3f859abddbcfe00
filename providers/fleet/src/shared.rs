//! The fleet as the control plane reads it.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use thermocline_broker::BrokerError;
use thermocline_provider::fleet::{
    DeadLetter, FleetTally, ParkedRequest, Replayed, SeenQueue, SeenWorker, SharedFleet,
};
use thermocline_provider::{ProviderError, ProviderErrorKind};
use thermocline_wire::fleet::Terms;

use crate::letters;
use crate::provider::Fleet;

#[async_trait]
impl SharedFleet for Fleet {
    fn workers(&self) -> Vec<SeenWorker> {
        self.hub.sightings().workers(self.hub.clock.now())
    }

    fn queues(&self) -> Vec<SeenQueue> {
        let now = self.hub.clock.now();
        let standings = self.hub.lot().standings(now);
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

    fn unserved(&self, deployment: &str, terms: &Terms) -> Option<String> {
        self.hub.unserved(deployment, terms, self.hub.clock.now())
    }

    fn release(&self, deployment: &str) {
        self.hub.give_up_cold(deployment, self.hub.clock.now());
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

    fn drain(&self, workers: Vec<String>) {
        *self.hub.draining() = workers;
        self.hub.news.notify_one();
    }

    async fn dead_letters(&self) -> Result<BoxStream<'static, DeadLetter>, ProviderError> {
        let letters = self.hub.broker.dead_letters().await;
        let letters = letters.map_err(|error| unavailable(&error))?;
        Ok(letters::read(self.hub.clone(), letters))
    }

    async fn replay(
        &self,
        request: ParkedRequest,
        within: Duration,
    ) -> Result<Replayed, ProviderError> {
        use ProviderErrorKind::{RateLimited, Unavailable};
        match self.hub.replay(request, within).await {
            Ok(Some(replayed)) => Ok(replayed),
            Ok(None) => Err(ProviderError::new(
                Unavailable,
                "the queue cannot be reached",
            )),
            Err(full) => Err(ProviderError::new(RateLimited(None), full.words().1)),
        }
    }
}

fn unavailable(error: &BrokerError) -> ProviderError {
    tracing::debug!(%error, "dead letters cannot be had");
    let why = error.obstacle().to_string();
    ProviderError::new(ProviderErrorKind::Unavailable, why)
}
