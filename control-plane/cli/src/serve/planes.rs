//! Starts both planes and wires them together.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use thermocline_clock::Clock;
use thermocline_edge::{Lifecycle, Timeouts, listen};
use thermocline_gateway::{FlightLimits, Gateway, Settings, Threads, TrustedProxies};
use thermocline_gpu::DriverProbe;
use thermocline_provider::{ConfiguredGpus, GpuProbe, Provider};
use thermocline_server::{
    AdminToken, Config, ControlPlane, FleetParts, HttpProbe, Parts, Redaction, Secrets,
    check_token, serve_admin,
};
use thermocline_store::Store;
use thermocline_table::Table;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::worker::{self, OwnWorker};
use super::{Configuration, adapters, broker, secrets};
use crate::failure::Failure;
use crate::upkeep::store_failure;

/// Both planes, running.
pub(crate) struct Planes {
    /// Where the request plane listens.
    pub(crate) request: SocketAddr,
    /// Where the admin plane listens.
    pub(crate) admin: SocketAddr,
    /// A token made just now, to be shown once.
    pub(crate) fresh_token: Option<String>,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) grace: Duration,
    threads: Threads,
    /// The shared fleet's worker in this process; drains with the rest.
    worker: JoinHandle<()>,
    admin_plane: JoinHandle<std::io::Result<()>>,
    /// Held as long as the store is used.
    _lock: Option<File>,
}

impl Planes {
    /// Waits until both planes have ended.
    pub(crate) async fn ended(self) {
        let threads = self.threads;
        let request_plane = tokio::task::spawn_blocking(move || threads.join());
        let (_, _, _) = tokio::join!(request_plane, self.admin_plane, self.worker);
    }
}

/// Starts both planes; `folder` says where process files are kept, `redaction`
/// is told what nobody may read.
///
/// # Errors
/// What keeps it from starting; nothing is left running then but simulated clouds.
pub(crate) async fn start(
    configuration: Configuration,
    folder: Option<fn(&Config) -> PathBuf>,
    redaction: Redaction,
) -> Result<Planes, Failure> {
    let Configuration {
        server: config,
        providers,
        worker,
    } = configuration;
    let clock = Clock::system();
    let request_listener = bind("request", config.request_listen)?;
    let admin_listener = bind("admin", config.admin_listen)?;
    let fault = |error: std::io::Error| Failure::fault(error.to_string());
    let request = request_listener.local_addr().map_err(fault)?;
    let admin = admin_listener.local_addr().map_err(fault)?;
    let lock = lock_store(&config)?;
    let store = Store::open(&config.store_url)
        .await
        .map_err(|error| store_failure("store.url", &error))?;
    let given = std::env::var("THERMOCLINE_ADMIN_TOKEN").ok();
    given.iter().for_each(|token| redaction.hide(token));
    let secrets = secrets::open(&config, &store, redaction.clone()).await?;
    let token = AdminToken::load(&store, given.as_deref().filter(|t| !t.is_empty()))
        .await
        .map_err(|error| Failure::fault(format!("store.url: {error}")))?;
    let lifecycle = Lifecycle::default();
    let table = Arc::new(Table::default());
    let folder = folder.map(|folder| folder(&config)).unwrap_or_default();
    let with = adapters::Surroundings {
        folder: &folder,
        clock: &clock,
        drain: &lifecycle.drain,
        redaction: &redaction,
    };
    let providers = adapters::configured(&providers, &with).await?;
    let parts = Foundation {
        store,
        secrets,
        table: table.clone(),
        clock: clock.clone(),
        drain: lifecycle.drain.clone(),
        redaction: redaction.clone(),
    };
    let (control, own) = control_plane(&config, parts, providers).await?;
    let own = match &worker {
        Some(worker) => Some(own.start(worker, &config.docker, &with).await?),
        None => None,
    };
    let worker = tokio::spawn(worker::until_drained(own, lifecycle.clone()));
    let gateway = Gateway::new(
        table,
        control.handle(),
        clock,
        Handle::current(),
        settings(&config, &control, token.hash())?,
    );
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = thermocline_gateway::serve(
        &gateway,
        request_listener,
        cores,
        Timeouts::default(),
        &lifecycle,
    )
    .map_err(fault)?;
    let admin_plane = serve_admin(control, admin_listener, token.hash(), lifecycle.clone());
    Ok(Planes {
        request,
        admin,
        fresh_token: token.fresh,
        grace: config.grace,
        threads,
        worker,
        admin_plane: tokio::spawn(admin_plane),
        lifecycle,
        _lock: lock,
    })
}

/// Listens on the address of a plane.
fn bind(plane: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    listen(address).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::AddrInUse => format!(
                "; choose another with {plane}.listen or THERMOCLINE_{}__LISTEN, \
                 for the demo with --{plane}-listen",
                plane.to_uppercase()
            ),
            _ => String::new(),
        };
        Failure::fault(format!("{plane}.listen {address}: {error}{hint}"))
    })
}

/// What the control plane stands on.
struct Foundation {
    store: Store,
    secrets: Secrets,
    table: Arc<Table>,
    clock: Clock,
    drain: CancellationToken,
    redaction: Redaction,
}

async fn control_plane(
    config: &Config,
    on: Foundation,
    (mut providers, mut hints): (Vec<adapters::Named>, adapters::Hints),
) -> Result<(Arc<ControlPlane>, OwnWorker), Failure> {
    let owner = on
        .store
        .owner()
        .await
        .map_err(|error| Failure::fault(format!("store.url: {error}")))?;
    let docker = adapters::docker(config, &on.clock)?;
    hints.push((adapters::DOCKER.to_owned(), docker.watch(&owner).boxed()));
    let broker = broker::open(&config.broker, &on.clock, &on.redaction)?;
    let (fleet, named) = adapters::fleet(config, broker.clone(), &on.clock, &on.redaction).await?;
    let own = OwnWorker::of(&fleet, broker);
    providers.push(named);
    let docker: Arc<dyn Provider> = Arc::new(docker);
    providers.push((adapters::DOCKER.to_owned(), "docker", docker));
    let (store, providers) = interruptible(on.store, providers);
    let parts = Parts {
        store,
        table: on.table,
        clock: on.clock.clone(),
        defaults: config.defaults.clone(),
        base_domain: config.base_domain.clone(),
        gpus: gpus(config, &on.clock),
        budget: config.budget,
        secrets: on.secrets,
        providers,
        fleet: Some(FleetParts {
            shared: fleet,
            dead_letters: config.fleet.dead_letters,
            pool: config.fleet.pool.clone(),
        }),
        hints,
        probe: Arc::new(HttpProbe::new()),
        drain: on.drain,
    };
    let control = ControlPlane::start(parts).await;
    let control = control.map_err(|error| Failure::fault(error.to_string()))?;
    Ok((control, own))
}

/// The GPUs of this machine: what is found, as far as the configuration lets it
/// be used, or what is configured where nothing is found.
fn gpus(config: &Config, clock: &Clock) -> Arc<dyn GpuProbe> {
    let driver = DriverProbe::new(clock);
    match config.vram.clone() {
        Some(limits) => Arc::new(driver.within(ConfiguredGpus::new(limits))),
        None => Arc::new(driver),
    }
}

/// With the fail points of a debug build, where the environment names one.
fn interruptible(store: Store, providers: Vec<adapters::Named>) -> (Store, Vec<adapters::Named>) {
    #[cfg(debug_assertions)]
    if let Some(points) = super::fail_points::FailPoints::of_environment() {
        let providers = providers.into_iter().map(|named| points.around(named));
        return (points.in_store(store), providers.collect());
    }
    (store, providers)
}

fn settings(
    config: &Config,
    control: &Arc<ControlPlane>,
    token: [u8; 32],
) -> Result<Settings, Failure> {
    let networks = config.trusted_proxies.iter().map(|text| {
        text.parse()
            .or_else(|_| text.parse::<std::net::IpAddr>().map(ipnet::IpNet::from))
            .map_err(|_: std::net::AddrParseError| {
                Failure::mistake(format!("request.trusted_proxies: {text} is no network"))
            })
    });
    let ready = control.clone();
    let access: thermocline_gateway::Access = Arc::new(move |given| check_token(&token, given));
    Ok(Settings {
        trusted: TrustedProxies::new(networks.collect::<Result<_, _>>()?),
        private_dedicated: config.outbound.dedicated,
        flights: FlightLimits::default(),
        access: config.request_token.then_some(access),
        ready: Arc::new(move || ready.is_loaded()),
    })
}

/// One server per store: two would drive the same instances.
fn lock_store(config: &Config) -> Result<Option<File>, Failure> {
    let Some(path) = config.store_url.strip_prefix("sqlite://") else {
        return Ok(None);
    };
    let cannot = |error: String| Failure::fault(format!("store.url: {error}"));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let lock = options.open(format!("{path}.lock"));
    let lock = lock.map_err(|e| cannot(e.to_string()))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(_) => Err(cannot("another server uses this store".to_owned())),
    }
}
