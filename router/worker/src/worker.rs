use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use thermocline_broker::Broker;
use thermocline_clock::Clock;
use thermocline_wire::fleet::WorkerState;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use ulid::Ulid;

use crate::agent::Agent;
use crate::gateway::Gateways;
use crate::job::Bench;
use crate::{Memory, Runtime, Settings};

/// What a worker is made of.
pub struct Parts {
    /// What it is told.
    pub settings: Settings,
    /// Where its jobs come from.
    pub broker: Arc<dyn Broker>,
    /// How it calls the gateways that jobs name.
    pub gateways: Arc<dyn Gateways>,
    /// What executes models.
    pub runtime: Arc<dyn Runtime>,
    /// How much memory there is for them.
    pub memory: Arc<dyn Memory>,
    /// What it waits on.
    pub clock: Clock,
}

/// A worker that runs. Dropping it ends it at once, as a death of its process
/// would: what it has in hand is delivered to others.
pub struct Worker {
    drain: CancellationToken,
    state: watch::Receiver<WorkerState>,
    task: JoinHandle<()>,
}

impl Worker {
    /// Starts it: it first clears what an earlier life of it has left running.
    pub fn start(parts: Parts) -> Self {
        let drain = CancellationToken::new();
        let (events, heard) = mpsc::unbounded_channel();
        let (told, state) = watch::channel(WorkerState::Down);
        let bench = Arc::new(Bench {
            worker: parts.settings.name.clone(),
            incarnation: Ulid::generate().to_string(),
            clock: parts.clock.clone(),
            gateways: parts.gateways.clone(),
            runtime: parts.runtime.clone(),
            permits: Arc::new(Semaphore::new(parts.settings.permits as usize)),
            events,
            lease: parts.broker.lease(),
            patience: parts.settings.patience,
            runs: AtomicU64::new(0),
        });
        let agent = Agent::new(parts, bench, told);
        let task = tokio::spawn(agent.run(heard, drain.clone()));
        Worker { drain, state, task }
    }

    /// Takes nothing more; what is in hand ends and is acknowledged.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    /// Waits until it has drained, and unloaded everything where it is to.
    pub async fn ended(&mut self) {
        let _panicked = (&mut self.task).await;
    }

    /// What it does, as it changes.
    pub fn state(&self) -> watch::Receiver<WorkerState> {
        self.state.clone()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.task.abort();
    }
}
