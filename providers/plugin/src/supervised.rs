//! A plugin behind a process that is started again whenever it ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::Stream;
use futures_util::future::BoxFuture;
use futures_util::stream::unfold;
use thermocline_clock::Clock;
use thermocline_provider::{
    Capabilities, Deletion, InstancePage, InstanceRequest, Mistake, Offer, OfferQuery, Provider,
    ProviderError, ProviderErrorKind, ProviderInstance,
};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::PluginProvider;

/// Between the end of a process and its next start; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A process that lived so long ended for a reason of its own: the pauses begin anew.
const LONG_LIFE: Duration = Duration::from_secs(60);
/// How long a call waits for a process that is being started.
const PATIENCE: Duration = Duration::from_secs(5);

/// How the process behind a plugin comes to be.
#[async_trait]
pub trait Launch: Send + Sync + 'static {
    /// Starts it, or finds the one that runs.
    ///
    /// # Errors
    /// Why there is none; it is tried again.
    async fn launch(&self) -> io::Result<Launched>;
}

/// A process that speaks the protocol.
pub struct Launched {
    /// Where it listens.
    pub url: String,
    /// The token that it is called with.
    pub token: Option<String>,
    /// Whether what an earlier process had is gone with it.
    pub begins_anew: bool,
    /// Ends when the process does, with why; dropped, it may end the process.
    pub end: BoxFuture<'static, String>,
}

type Current = Option<Arc<PluginProvider>>;

/// A provider behind a process that is kept running as long as this lives.
pub struct Supervised {
    clock: Clock,
    current: watch::Receiver<Current>,
    beginnings: Arc<AtomicU64>,
    _end: DropGuard,
}

impl Supervised {
    /// Keeps a process running, under `name` in the log; waits for none. Once
    /// `drain` is cancelled, one that ends is not started again.
    pub fn start(name: &str, launch: impl Launch, clock: Clock, drain: CancellationToken) -> Self {
        Supervised::continued(name, launch, None, clock, drain)
    }

    /// The same, with the first process `running` already.
    pub fn continued(
        name: &str,
        launch: impl Launch,
        running: Option<Launched>,
        clock: Clock,
        drain: CancellationToken,
    ) -> Self {
        let (told, current) = watch::channel(None);
        let (end, beginnings) = (CancellationToken::new(), Arc::new(AtomicU64::new(0)));
        let supervisor = Supervisor {
            name: name.to_owned(),
            launch,
            told,
            beginnings: beginnings.clone(),
            clock: clock.clone(),
            drain,
        };
        let over = end.clone();
        tokio::spawn(async move { over.run_until_cancelled(supervisor.run(running)).await });
        Supervised {
            clock,
            current,
            beginnings,
            _end: end.drop_guard(),
        }
    }

    /// An item for each process that was started: what was there may be gone.
    pub fn starts(&self) -> impl Stream<Item = ()> + Send + 'static {
        unfold(self.current.clone(), |mut current| async move {
            loop {
                current.changed().await.ok()?;
                if current.borrow_and_update().is_some() {
                    return Some(((), current));
                }
            }
        })
    }

    /// The plugin, as soon as its process runs.
    async fn plugin(&self) -> Result<Arc<PluginProvider>, ProviderError> {
        let mut current = self.current.clone();
        let deadline = self.clock.now() + PATIENCE;
        let started = current.wait_for(Option::is_some);
        let started = self.clock.timeout_at(deadline, started).await;
        let plugin = started.ok().and_then(Result::ok).and_then(|it| it.clone());
        plugin.ok_or_else(|| {
            let detail = "the adapter's process is not running";
            ProviderError::new(ProviderErrorKind::Unreachable, detail)
        })
    }
}

/// The task that keeps the process running.
struct Supervisor<L> {
    name: String,
    launch: L,
    told: watch::Sender<Current>,
    beginnings: Arc<AtomicU64>,
    clock: Clock,
    drain: CancellationToken,
}

impl<L: Launch> Supervisor<L> {
    async fn run(self, running: Option<Launched>) {
        let (mut pause, mut running) = (FIRST_PAUSE, running);
        loop {
            let launched = match running.take() {
                Some(launched) => Ok(launched),
                None => self.launch.launch().await,
            };
            let why = match launched {
                Ok(launched) => {
                    let began = self.clock.now();
                    let why = self.live(launched).await;
                    if self.clock.now().since(began) >= LONG_LIFE {
                        pause = FIRST_PAUSE;
                    }
                    why
                }
                Err(error) => error.to_string(),
            };
            tracing::warn!(provider = self.name, why, retry_in = ?pause, "the adapter's process ended");
            let slept = self.drain.run_until_cancelled(self.clock.sleep(pause));
            if slept.await.is_none() {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Lets calls through until the process ends; why it did.
    async fn live(&self, launched: Launched) -> String {
        let plugin = match PluginProvider::connect(&launched.url, launched.token) {
            Ok(plugin) => plugin,
            Err(error) => return error.detail,
        };
        tracing::info!(provider = self.name, "the adapter's process runs");
        if launched.begins_anew {
            self.beginnings.fetch_add(1, Ordering::Release);
        }
        self.told.send_replace(Some(Arc::new(plugin)));
        let why = launched.end.await;
        self.told.send_replace(None);
        why
    }
}

#[async_trait]
impl Provider for Supervised {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        self.plugin().await?.capabilities().await
    }

    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        self.plugin().await?.offers(query).await
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        self.plugin().await?.create(key, request).await
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        self.plugin().await?.get(id).await
    }

    async fn list(&self, owner: &str, cursor: Option<&str>) -> Result<InstancePage, ProviderError> {
        self.plugin().await?.list(owner, cursor).await
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        self.plugin().await?.delete(id).await
    }

    async fn renew(&self, id: &str, lifetime: Duration) -> Result<bool, ProviderError> {
        self.plugin().await?.renew(id, lifetime).await
    }

    async fn lacks(&self, request: &InstanceRequest) -> Result<Vec<Mistake>, ProviderError> {
        self.plugin().await?.lacks(request).await
    }

    fn beginnings(&self) -> u64 {
        self.beginnings.load(Ordering::Acquire)
    }
}
