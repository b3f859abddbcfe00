//! The shared fleet's worker in the server's own process.

use std::path::Path;
use std::sync::Arc;

use thermocline_broker::Broker;
use thermocline_clock::Clock;
use thermocline_edge::Lifecycle;
use thermocline_fleet::Fleet;
use thermocline_server::Config;
use thermocline_worker::Worker;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::worker::Node;

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

    /// Starts it, if the configuration asks for one.
    ///
    /// # Errors
    /// What is wrong with its runtime.
    pub(super) async fn start(
        self,
        config: &Config,
        folder: &Path,
        clock: &Clock,
        drain: &CancellationToken,
    ) -> Result<Option<Worker>, Failure> {
        let Some(worker) = &config.fleet.worker else {
            return Ok(None);
        };
        let node = Node {
            config: worker,
            docker: &config.docker,
            folder,
            broker: self.broker,
            token: &self.token,
            gateways: &[],
            clock,
            drain,
        };
        crate::worker::start(node).await.map(Some)
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
