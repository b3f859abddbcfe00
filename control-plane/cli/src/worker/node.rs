use std::path::Path;
use std::sync::Arc;

use thermocline_broker::Broker;
use thermocline_clock::Clock;
use thermocline_docker::{DockerProvider, Limits};
use thermocline_gpu::DriverProbe;
use thermocline_policy::Tier;
use thermocline_policy::fleet::{Mib, Shape};
use thermocline_provider::ConfiguredGpus;
use thermocline_worker::{
    ConfiguredMemory, HttpGateways, InstanceRuntime, KserveRuntime, Memory, Parts, ProbedMemory,
    Runtime, Settings, Worker,
};
use tokio_util::sync::CancellationToken;

use super::{WorkerConfig, WorkerRuntime};
use crate::failure::Failure;
use crate::serve::sim_of_worker;

/// What a worker is started with.
pub(crate) struct Node<'a> {
    pub(crate) config: &'a WorkerConfig,
    /// The Docker daemon's endpoint.
    pub(crate) docker: &'a str,
    /// Where process files are kept.
    pub(crate) folder: &'a Path,
    pub(crate) broker: Arc<dyn Broker>,
    pub(crate) token: &'a str,
    /// Gateways that it may call; each that a job names when empty.
    pub(crate) gateways: &'a [String],
    pub(crate) clock: &'a Clock,
    /// Ends what its runtime keeps running.
    pub(crate) drain: &'a CancellationToken,
    /// Whether its models run on when it ends.
    pub(crate) keep_models: bool,
}

/// Starts a worker.
///
/// # Errors
/// What is wrong with its runtime.
pub(crate) async fn start(node: Node<'_>) -> Result<Worker, Failure> {
    let runtime = runtime(&node).await?;
    let config = node.config;
    let mut settings = Settings::new(&config.name, config.permits);
    settings.shape = config.shape;
    settings.keep_models = node.keep_models;
    Ok(Worker::start(Parts {
        settings,
        broker: node.broker,
        gateways: Arc::new(HttpGateways::new(
            node.token,
            node.gateways,
            node.clock.clone(),
        )),
        runtime,
        memory: memory(config, node.clock).await,
        clock: node.clock.clone(),
    }))
}

/// What is configured of each GPU, and what others take of them where the
/// driver tells; a simulated cloud takes nothing of any GPU.
async fn memory(config: &WorkerConfig, clock: &Clock) -> Arc<dyn Memory> {
    let on_gpus = config.shape == Shape::Gpu && config.runtime != WorkerRuntime::Sim;
    if !on_gpus {
        return Arc::new(ConfiguredMemory::new(config.memory_mib.clone()));
    }
    let totals = config.memory_mib.iter().map(|mib| Mib(*mib).bytes());
    let driver = DriverProbe::new(clock);
    let probe = driver.within(ConfiguredGpus::new(totals.collect()));
    Arc::new(ProbedMemory::start(Arc::new(probe), clock.clone()).await)
}

async fn runtime(node: &Node<'_>) -> Result<Arc<dyn Runtime>, Failure> {
    let clock = node.clock.clone();
    // Of its own, so that neither the server's sweep nor another worker's touches it.
    let owner = format!("fleet-w-{}", node.config.name);
    Ok(match &node.config.runtime {
        WorkerRuntime::Docker => {
            let docker = DockerProvider::connect(node.docker, Limits::default(), clock.clone())
                .map_err(|error| Failure::mistake(format!("the Docker daemon: {error}")))?;
            let docker = Arc::new(docker);
            Arc::new(InstanceRuntime::new(docker, owner, Tier::Local, clock))
        }
        WorkerRuntime::Sim => {
            let sim = sim_of_worker(&node.config.name, node.folder, &clock, node.drain).await?;
            Arc::new(InstanceRuntime::new(Arc::new(sim), owner, Tier::Pod, clock))
        }
        WorkerRuntime::Kserve(url) => Arc::new(KserveRuntime::new(url, clock)),
    })
}
