//! The whole product in the test's process: both planes on loopback, with the
//! clock, the store and the providers in the test's hands.
//!
//! It runs on a runtime of its own, so that [`System::crash`] ends it as a
//! `kill -9` would: nothing is told, nothing is finished, nothing is stopped.

mod admin;
mod elsewhere;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use thermocline_clock::{Clock, ManualClock};
use thermocline_edge::{Lifecycle, Timeouts, listen};
use thermocline_gateway::{FlightLimits, Gateway, Settings, TrustedProxies};
use thermocline_policy::Defaults;
use thermocline_provider::fleet::SharedFleet;
use thermocline_provider::{ConfiguredGpus, GpuProbe, Provider};
use thermocline_server::{
    AdminToken, BudgetConfig, ControlPlane, DeadLetterSettings, FleetParts, HttpProbe, KeyOrigin,
    Parts, PoolSettings, Redaction, Secrets, serve_admin,
};
use thermocline_store::Store;
use thermocline_table::Table;
use tokio::runtime::{Handle, Runtime};

pub use admin::Admin;
pub(crate) use admin::breathe;
use elsewhere::Elsewhere;

use crate::client::RawClient;

/// The token of every system under test.
pub const TOKEN: &str = "test-token";

/// What a system is made of.
pub struct Setup {
    /// The clock that everything waits on.
    pub clock: Clock,
    /// Providers by name and kind; the one named `docker` serves the local tier.
    pub providers: Vec<(String, Arc<dyn Provider>)>,
    /// What a deployment that says nothing gets.
    pub defaults: Defaults,
    /// The GPUs of the machine.
    pub gpus: Arc<dyn GpuProbe>,
    /// What all deployments together may cost.
    pub budget: BudgetConfig,
    /// Peers that are believed.
    pub trusted: Vec<String>,
    /// Deployments are also reached as `NAME.<base_domain>`.
    pub base_domain: String,
    /// How long a client may take.
    pub timeouts: Timeouts,
    /// The shared fleet.
    pub fleet: Option<Arc<dyn SharedFleet>>,
    /// What is kept of its dead letters.
    pub dead_letters: DeadLetterSettings,
    /// Its deployment whose pods are workers.
    pub pool: Option<PoolSettings>,
    folder: Arc<TempDir>,
}

impl Setup {
    /// A system on the machine's clock, without providers.
    ///
    /// # Panics
    /// When no temporary folder can be made.
    pub fn new() -> Self {
        Setup {
            clock: Clock::system(),
            providers: Vec::new(),
            defaults: Defaults::default(),
            gpus: Arc::new(ConfiguredGpus::default()),
            budget: BudgetConfig::default(),
            trusted: Vec::new(),
            base_domain: String::new(),
            timeouts: Timeouts::default(),
            fleet: None,
            dead_letters: DeadLetterSettings::default(),
            pool: None,
            folder: Arc::new(TempDir::new().expect("a temporary folder")),
        }
    }

    /// On a clock that stands still until the test moves it.
    pub fn on(mut self, time: &ManualClock) -> Self {
        self.clock = time.clock();
        self
    }

    /// With a provider; its tasks run where the test runs, and outlive a crash.
    pub fn provider(mut self, name: &str, provider: impl Provider + 'static) -> Self {
        let elsewhere = Elsewhere::new(Handle::current(), provider);
        self.providers.push((name.to_owned(), Arc::new(elsewhere)));
        self
    }

    /// With a shared fleet, which outlives a crash.
    pub fn fleet(mut self, fleet: impl SharedFleet + 'static) -> Self {
        self.fleet = Some(Arc::new(fleet));
        self
    }

    /// Starts it.
    pub async fn start(self) -> System {
        System::start(self).await
    }

    fn store_url(&self) -> String {
        format!("sqlite://{}", self.store_path().display())
    }

    fn store_path(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }
}

impl Default for Setup {
    fn default() -> Self {
        Setup::new()
    }
}

/// A manual clock that starts at a fixed wall-clock time.
pub fn manual_clock() -> ManualClock {
    ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000))
}

/// A running system.
pub struct System {
    /// Where the request plane listens.
    pub request: SocketAddr,
    /// The admin plane's client.
    pub admin: Admin,
    /// What ends it.
    pub lifecycle: Lifecycle,
    setup: Setup,
    runtime: Option<Runtime>,
}

impl System {
    /// Starts a system on free ports.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start(setup: Setup) -> System {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let lifecycle = Lifecycle::default();
        let wiring = Wiring::of(&setup, &lifecycle);
        let planes = runtime.spawn(wiring.start());
        let (request, admin) = planes.await.expect("the system starts");
        System {
            request,
            admin: Admin::new(admin),
            lifecycle,
            setup,
            runtime: Some(runtime),
        }
    }

    /// A connection to the request plane.
    pub async fn client(&self) -> RawClient {
        RawClient::connect(self.request)
            .await
            .expect("the request plane accepts")
    }

    /// Ends it as a `kill -9` would.
    pub fn crash(mut self) -> Setup {
        self.lifecycle.abort.cancel();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        Setup {
            clock: self.setup.clock.clone(),
            providers: std::mem::take(&mut self.setup.providers),
            defaults: self.setup.defaults.clone(),
            trusted: self.setup.trusted.clone(),
            base_domain: self.setup.base_domain.clone(),
            folder: self.setup.folder.clone(),
            gpus: self.setup.gpus.clone(),
            budget: self.setup.budget,
            timeouts: self.setup.timeouts,
            fleet: self.setup.fleet.clone(),
            dead_letters: self.setup.dead_letters,
            pool: self.setup.pool.clone(),
        }
    }
}

impl Drop for System {
    fn drop(&mut self) {
        self.lifecycle.drain.cancel();
        self.lifecycle.abort.cancel();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Everything that is needed to wire the planes, apart from the test's own.
struct Wiring {
    store_url: String,
    clock: Clock,
    defaults: Defaults,
    base_domain: String,
    gpus: Arc<dyn GpuProbe>,
    budget: BudgetConfig,
    trusted: Vec<String>,
    timeouts: Timeouts,
    fleet: Option<FleetParts>,
    providers: Vec<(String, &'static str, Arc<dyn Provider>)>,
    lifecycle: Lifecycle,
}

impl Wiring {
    fn of(setup: &Setup, lifecycle: &Lifecycle) -> Self {
        let named = |(name, provider): &(String, Arc<dyn Provider>)| {
            (name.clone(), "fake", provider.clone())
        };
        Wiring {
            store_url: setup.store_url(),
            clock: setup.clock.clone(),
            defaults: setup.defaults.clone(),
            base_domain: setup.base_domain.clone(),
            gpus: setup.gpus.clone(),
            budget: setup.budget,
            trusted: setup.trusted.clone(),
            timeouts: setup.timeouts,
            fleet: setup.fleet.clone().map(|shared| FleetParts {
                shared,
                dead_letters: setup.dead_letters,
                pool: setup.pool.clone(),
            }),
            providers: setup.providers.iter().map(named).collect(),
            lifecycle: lifecycle.clone(),
        }
    }

    async fn start(self) -> (SocketAddr, SocketAddr) {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let request = listen(any).expect("a free port");
        let admin = listen(any).expect("a free port");
        let addresses = (
            request.local_addr().expect("an address"),
            admin.local_addr().expect("an address"),
        );
        let store = Store::open(&self.store_url).await.expect("the store opens");
        let token = AdminToken::load(&store, Some(TOKEN))
            .await
            .expect("a token");
        let secrets = Secrets::open(&store, KeyOrigin::Memory, Redaction::default());
        let table = Arc::new(Table::default());
        let parts = Parts {
            secrets: secrets.await.expect("no secret is there yet"),
            store,
            table: table.clone(),
            clock: self.clock.clone(),
            defaults: self.defaults,
            base_domain: self.base_domain,
            gpus: self.gpus,
            budget: self.budget,
            providers: self.providers,
            fleet: self.fleet,
            hints: Vec::new(),
            probe: Arc::new(HttpProbe::new()),
            drain: self.lifecycle.drain.clone(),
        };
        let control = ControlPlane::start(parts)
            .await
            .expect("the control plane starts");
        let ready = control.clone();
        let trusted = self.trusted.iter().map(|n| n.parse().expect("a network"));
        let settings = Settings {
            trusted: TrustedProxies::new(trusted.collect()),
            private_dedicated: true,
            flights: FlightLimits::default(),
            access: None,
            ready: Arc::new(move || ready.is_loaded()),
        };
        let gateway = Gateway::new(
            table,
            control.handle(),
            self.clock,
            Handle::current(),
            settings,
        );
        let threads =
            thermocline_gateway::serve(&gateway, request, 2, self.timeouts, &self.lifecycle);
        drop(threads.expect("the request plane starts"));
        tokio::spawn(serve_admin(control, admin, token.hash(), self.lifecycle));
        addresses
    }
}
