//! A control plane on one store and one or more clouds, on a clock that only the
//! test moves, without a socket: small enough to be made thousands of times.

mod dealings;
mod folder;

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tempfile::TempDir;
use thermocline_clock::ManualClock;
use thermocline_policy::{Defaults, Moment};
use thermocline_provider::{Address, ConfiguredGpus, Provider};
use thermocline_server::{
    AdminToken, BudgetConfig, ControlPlane, KeyOrigin, Parts, Probe, Redaction, Secrets, router,
};
use thermocline_store::Store;
use thermocline_support::provider::FakeProvider;
use thermocline_support::system::{TOKEN, manual_clock};
use thermocline_table::Table;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use crate::fuse::{Fuse, Fused};
use crate::idle::Idle;
use folder::{STORE, folder};

/// How long in real time the loops may take to come to rest.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

type Call = Box<dyn Fn(Request<Full<Bytes>>) -> Pin<Box<dyn Future<Output = (u16, Value)>>>>;

/// Everything that outlives a process, and the process if one is up.
pub(crate) struct World {
    pub(crate) time: ManualClock,
    pub(crate) cloud: FakeProvider,
    pub(crate) fuse: Fuse,
    /// Further providers, by name.
    others: Vec<(String, FakeProvider)>,
    folder: TempDir,
    up: Option<Up>,
    pub(crate) owner: String,
    /// How many times a process ended by its fuse or by force.
    pub(crate) crashes: u32,
}

/// A running process.
struct Up {
    control: Arc<ControlPlane>,
    table: Arc<Table>,
    store: Store,
    call: Call,
    idle: Idle,
    drain: CancellationToken,
    // Dropped last: it holds every task.
    runtime: Runtime,
}

/// A process that stands still.
pub(crate) struct Frozen(Up);

impl Up {
    /// Does what it can at this moment.
    fn goes_on(&self) {
        for _ in 0..50 {
            self.runtime.block_on(self.idle.reached_again());
        }
    }

    /// The same until nothing of it is under way but `held` calls: the store's own
    /// thread may take its time.
    fn comes_to_rest(&self, held: usize) {
        let began = real_now();
        self.goes_on();
        while self.control.under_way() > held {
            assert!(began.elapsed() < PATIENCE, "it does not come to rest");
            self.goes_on();
        }
    }
}

/// Asks the clouds on paper.
struct PaperProbe(Vec<FakeProvider>);

#[async_trait]
impl Probe for PaperProbe {
    async fn status(&self, address: &Address, _: &str) -> Option<u16> {
        self.0.iter().find_map(|cloud| cloud.answers(&address.url))
    }
}

impl World {
    /// A process on an empty store and a healthy cloud `toy`.
    pub(crate) fn new() -> World {
        World::with_others(&[])
    }

    /// The same with further providers of these names.
    pub(crate) fn with_others(names: &[&str]) -> World {
        World::of(names, |time, _| FakeProvider::on_paper(&time.clock()))
    }

    /// The same with a second provider, `twin`, that serves the same account.
    pub(crate) fn with_twin() -> World {
        World::of(&["twin"], |_, cloud| cloud.clone())
    }

    fn of(names: &[&str], other: impl Fn(&ManualClock, &FakeProvider) -> FakeProvider) -> World {
        let time = manual_clock();
        let cloud = FakeProvider::on_paper(&time.clock());
        let other = |name: &&str| ((*name).to_owned(), other(&time, &cloud));
        let mut world = World {
            others: names.iter().map(other).collect(),
            cloud,
            time,
            fuse: Fuse::new(),
            folder: folder(),
            up: None,
            owner: String::new(),
            crashes: 0,
        };
        world.start();
        world.settle();
        world
    }

    pub(crate) fn other(&self, name: &str) -> FakeProvider {
        let found = self.others.iter().find(|(other, _)| other == name);
        found.unwrap().1.clone()
    }

    fn start(&mut self) {
        while self.up.is_none() {
            let idle = Idle::default();
            let parks = idle.clone();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .on_thread_park(move || parks.parks())
                .enable_all()
                .build()
                .unwrap();
            let parts = runtime.block_on(self.parts());
            let (store, table) = (parts.store.clone(), parts.table.clone());
            let drain = parts.drain.clone();
            let fuse = self.fuse.clone();
            let started = runtime.block_on(async {
                tokio::select! {
                    biased;
                    started = ControlPlane::start(parts) => Some(started.unwrap()),
                    () = fuse.blows() => None,
                }
            });
            let Some(control) = started else {
                self.crashes += 1;
                self.fuse.mend();
                continue;
            };
            let call = runtime.block_on(calls(&control, &store));
            self.owner = runtime.block_on(store.owner()).unwrap();
            self.up = Some(Up {
                control,
                table,
                store,
                call,
                idle,
                drain,
                runtime,
            });
        }
    }

    async fn parts(&self) -> Parts {
        let url = format!("sqlite://{}", self.folder.path().join(STORE).display());
        let store = Store::open(&url).await.unwrap();
        let fused = |cloud: &FakeProvider| -> Arc<dyn Provider> {
            Arc::new(Fused(cloud.clone(), self.fuse.clone()))
        };
        let others = self.others.iter();
        let mut providers = vec![("toy".to_owned(), "fake", fused(&self.cloud))];
        providers.extend(others.map(|(name, cloud)| (name.clone(), "fake", fused(cloud))));
        let mut clouds = vec![self.cloud.clone()];
        clouds.extend(self.others.iter().map(|(_, cloud)| cloud.clone()));
        let secrets = Secrets::open(&store, KeyOrigin::Memory, Redaction::default());
        Parts {
            secrets: secrets.await.unwrap(),
            store: store.behind(self.fuse.gate()),
            table: Arc::default(),
            clock: self.time.clock(),
            defaults: Defaults::default(),
            base_domain: String::new(),
            gpus: Arc::new(ConfiguredGpus::default()),
            budget: BudgetConfig::default(),
            providers,
            fleet: None,
            hints: Vec::new(),
            probe: Arc::new(PaperProbe(clouds)),
            drain: CancellationToken::new(),
        }
    }

    /// `kill -9`, `after` of silence, and a new process on the same store.
    pub(crate) fn crash(&mut self, after: Duration) {
        self.crashes += 1;
        drop(self.up.take());
        self.fuse.mend();
        self.time.advance(after);
        self.start();
        self.settle();
    }

    fn up(&self) -> &Up {
        self.up.as_ref().unwrap()
    }

    /// An orderly shutdown, and a new process on the same store.
    pub(crate) fn restart(&mut self) {
        self.up().drain.cancel();
        self.up().goes_on();
        drop(self.up.take());
        self.start();
        self.settle();
    }

    /// `SIGSTOP`: what the process was doing goes on only when it is thawed.
    pub(crate) fn freeze(&mut self) -> Frozen {
        let frozen = Frozen(self.up.take().unwrap());
        // A write in progress would hold the lock for ever.
        frozen.0.comes_to_rest(self.waiting());
        self.start();
        self.settle();
        frozen
    }

    /// Lets the process do all that it can at this moment, whoever else waits.
    pub(crate) fn go_on(&self) {
        self.up().comes_to_rest(0);
    }

    /// `SIGCONT`, for as long as the frozen process has something to do at this
    /// moment; then it ends.
    pub(crate) fn thaw(&mut self, frozen: Frozen) {
        frozen.0.goes_on();
        drop(frozen);
        self.settle();
    }

    /// No crash from here on but one that has begun.
    pub(crate) fn disarm(&mut self) {
        if self.fuse.is_blown() {
            self.crash(secs(2));
        }
        self.fuse.mend();
    }

    /// Runs `work` where the process runs.
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.up().runtime.block_on(work)
    }

    /// Moves the time on and lets the loops follow; a process whose fuse blows
    /// meanwhile is followed by another one.
    pub(crate) fn step(&mut self, by: Duration) {
        self.time.advance(by);
        self.settle();
    }

    /// `span` passes in steps of `step`.
    pub(crate) fn pass(&mut self, span: Duration, step: Duration) {
        let end = self.time.now() + span;
        while self.time.now() < end {
            self.step(step.min(self.time.now().until(end)));
        }
    }

    /// Lets the loops come to rest.
    pub(crate) fn settle(&mut self) {
        if !self.run(self.rested()) {
            self.crash(secs(2));
        }
    }

    /// Ends when nothing is under way but calls that wait; false when the fuse
    /// has blown first.
    async fn rested(&self) -> bool {
        let (began, control) = (real_now(), &self.up().control);
        let idle = &self.up().idle;
        idle.reached().await;
        loop {
            if self.fuse.is_blown() {
                return false;
            }
            if control.under_way() <= self.waiting() {
                return true;
            }
            assert!(began.elapsed() < PATIENCE, "the loops do not come to rest");
            // The store's own thread is at work.
            idle.reached_again().await;
        }
    }

    /// Calls that wait in the clouds, whoever made them.
    fn waiting(&self) -> usize {
        self.clouds().map(FakeProvider::waiting).sum()
    }

    fn clouds(&self) -> impl Iterator<Item = &FakeProvider> {
        std::iter::once(&self.cloud).chain(self.others.iter().map(|(_, cloud)| cloud))
    }

    /// Time since the world began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.time.now().since(Moment::ORIGIN)
    }

    /// Sets the wall clock `by` seconds on or back.
    pub(crate) fn jump(&self, by: i64) {
        let wall = self.time.wall();
        let span = secs(by.unsigned_abs());
        let to: SystemTime = if by < 0 { wall - span } else { wall + span };
        self.time.set_wall(to);
    }
}

async fn calls(control: &Arc<ControlPlane>, store: &Store) -> Call {
    let token = AdminToken::load(store, Some(TOKEN)).await.unwrap();
    let router = router(control.clone(), token.hash());
    Box::new(move |request| {
        let mut router = router.clone();
        async move {
            let response = router.call(request).await.unwrap();
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let text = String::from_utf8_lossy(&body).into_owned();
            (status, serde_json::from_str(&text).unwrap_or(json!(text)))
        }
        .boxed_local()
    })
}

#[allow(clippy::disallowed_methods)] // bounds a wait in real time
pub(crate) fn real_now() -> Instant {
    Instant::now()
}
