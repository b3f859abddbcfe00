//! The life of one instance, from its create to its end.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::Tier;
use thermocline_wire::provider::InstanceRequest;
use tokio_util::sync::CancellationToken;

use crate::backend::{self, Backend};
use crate::cloud::Cloud;
use crate::overrides::{Exit, Overrides};
use crate::workers::{Limits, Pool};

/// How long an endpoint keeps an idle worker where nothing was asked for.
const IDLE: Duration = Duration::from_secs(5);
/// How many workers an endpoint may have where nothing was asked for.
const WORKERS: u32 = 3;

/// What is needed to bring an instance to life.
pub(crate) struct Birth {
    pub(crate) id: String,
    pub(crate) request: Arc<InstanceRequest>,
    pub(crate) overrides: Overrides,
    /// Where it listens from the start, if it does.
    pub(crate) listener: Option<TcpListener>,
    pub(crate) life: CancellationToken,
}

/// A listener on a port of this machine that the system chose.
pub(crate) fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Lets an instance live until its life is cancelled.
pub(crate) fn start(cloud: Arc<Cloud>, birth: Birth) {
    tokio::spawn(async move {
        let life = birth.life.clone();
        life.run_until_cancelled(live(cloud, birth)).await
    });
}

async fn live(cloud: Arc<Cloud>, mut birth: Birth) {
    let listener = match birth.listener.take() {
        Some(listener) => Ok(listener),
        None => boot(&cloud, &birth.overrides).await,
    };
    let Ok(listener) = listener.and_then(tokio::net::TcpListener::from_std) else {
        return cloud.failed(&birth.id, "it found no port to listen on".to_owned());
    };
    let backend = Arc::new(backend(&cloud, &birth));
    if let Ok(address) = listener.local_addr() {
        cloud.became_ready(&birth.id, address);
    }
    tokio::select! {
        never = backend::serve(listener, backend) => match never {},
        code = exit(&cloud, birth.overrides.exit) => {
            cloud.failed(&birth.id, format!("exited with code {code}"));
        }
    }
}

async fn boot(cloud: &Cloud, overrides: &Overrides) -> io::Result<TcpListener> {
    let boot = overrides.boot.unwrap_or(cloud.settings.get().pod_boot);
    cloud.clock.sleep(boot).await;
    listen()
}

/// Ends when the instance does by itself, with its exit code.
async fn exit(cloud: &Cloud, exit: Option<Exit>) -> i32 {
    let Some(Exit { after, code }) = exit else {
        return std::future::pending().await;
    };
    cloud.clock.sleep(after).await;
    code
}

fn backend(cloud: &Cloud, birth: &Birth) -> Backend {
    let request = &birth.request;
    Backend {
        deployment: request.deployment.clone(),
        instance: birth.id.clone(),
        tier: request.tier,
        ready_path: request.ready_path.clone(),
        ready_at: cloud.clock.now() + birth.overrides.ready_delay,
        service_time: birth.overrides.service_time,
        settings: cloud.settings.clone(),
        clock: cloud.clock.clone(),
        workers: (request.tier == Tier::Serverless).then(|| pool(cloud, birth)),
    }
}

fn pool(cloud: &Cloud, birth: &Birth) -> Arc<Pool> {
    let request = &birth.request;
    let limits = Limits {
        workers: match request.max_workers {
            0 => WORKERS,
            asked => asked,
        },
        idle: match request.idle_timeout_s {
            0 => IDLE,
            asked => Duration::from_secs(asked),
        },
        queue_delay: Duration::from_secs(request.queue_delay_s),
        cold_start: birth.overrides.boot,
    };
    Pool::new(
        cloud.clock.clone(),
        cloud.settings.clone(),
        limits,
        birth.life.clone(),
    )
}
