//! The shared fleet's worker in the server's own process.

use std::sync::Arc;

use thermocline_broker::Broker;
use thermocline_edge::Lifecycle;
use thermocline_fleet::Fleet;
use thermocline_worker::Worker;

use super::adapters::Surroundings;
use crate::failure::Failure;
use crate::worker::{Node, WorkerConfig};

/// What the worker in this process needs of the fleet's gateway.
pub(super) struct OwnWorker {
    broker: Arc<dyn Broker>,
    token: String,
}

impl OwnWorker {
    pub(super) fn of(fleet: &Fleet, broker: Arc<dyn Broker>) -> Self {
        OwnWorker {
            broker,
            token: fleet.own_worker().token,
        }
    }

    /// Starts it.
    ///
    /// # Errors
    /// What is wrong with its runtime.
    pub(super) async fn start(
        self,
        config: &WorkerConfig,
        docker: &str,
        with: &Surroundings<'_>,
    ) -> Result<Worker, Failure> {
        let node = Node {
            config,
            docker,
            folder: with.folder,
            broker: self.broker,
            token: &self.token,
            gateways: &[],
            clock: with.clock,
            drain: with.drain,
            // A server's shutdown stops nothing; the next start clears it.
            keep_models: true,
        };
        crate::worker::start(node).await
    }
}

/// Runs a worker until the server has drained, or ends at once.
pub(super) async fn until_drained(worker: Option<Worker>, lifecycle: Lifecycle) {
    let Some(mut worker) = worker else {
        return;
    };
    tokio::select! {
        () = lifecycle.drain.cancelled() => {}
        () = worker.ended() => {
            tracing::error!("the shared fleet's worker in this process ended by itself");
            return;
        }
    }
    worker.drain();
    tokio::select! {
        () = worker.ended() => {}
        () = lifecycle.abort.cancelled() => {}
    }
}
