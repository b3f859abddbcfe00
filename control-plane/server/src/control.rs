//! The control plane's parts, and its loops.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::stream::BoxStream;
use thermocline_clock::Clock;
use thermocline_policy::{Defaults, Moment, Spec};
use thermocline_provider::{GpuProbe, Provider};
use thermocline_store::{DeploymentRow, Postings, Store};
use thermocline_table::{Config, Deployment, Ended, Snapshot, Table};
use thermocline_wire::spec_from_json;
use tokio::runtime::Handle;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;

use crate::budget::Budgets;
use crate::cold_starts::ColdStarts;
use crate::config::{BudgetConfig, StartError};
use crate::dead_letters::DeadLetters;
use crate::deployment::Controlled;
use crate::events::Events;
use crate::fleet::{Fleet, FleetParts};
use crate::instance::Instance;
use crate::local::Machine;
use crate::out_of_reach::OutOfReach;
use crate::prices::Quotes;
use crate::probe::{Probe, Probing};
use crate::provider::{DOCKER, Providers, Registered};
use crate::secrets::Secrets;
use crate::series::STEP;

/// How often every deployment is looked at without being asked to.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// What the control plane is made of.
pub struct Parts {
    /// What is written down.
    pub store: Store,
    /// What the request plane reads.
    pub table: Arc<Table>,
    /// The time.
    pub clock: Clock,
    /// What a deployment that says nothing gets.
    pub defaults: Defaults,
    /// Deployments are also reached as `NAME.<base_domain>`.
    pub base_domain: String,
    /// What tells of the GPUs of this machine.
    pub gpus: Arc<dyn GpuProbe>,
    /// What all deployments together may cost.
    pub budget: BudgetConfig,
    /// The secrets that are sealed in the store.
    pub secrets: Secrets,
    /// The providers: name, kind, adapter. The Docker daemon is named `docker`.
    pub providers: Vec<(String, &'static str, Arc<dyn Provider>)>,
    /// The shared fleet, where there is one.
    pub fleet: Option<FleetParts>,
    /// Hints that something changed at a provider, by its name.
    pub hints: Vec<(String, BoxStream<'static, ()>)>,
    /// How instances are asked whether they are ready and alive.
    pub probe: Arc<dyn Probe>,
    /// Ends the loops and refuses new work.
    pub drain: CancellationToken,
}

/// The control plane.
pub struct ControlPlane {
    pub(crate) store: Store,
    pub(crate) table: Arc<Table>,
    pub(crate) clock: Clock,
    pub(crate) defaults: Defaults,
    pub(crate) providers: Providers,
    pub(crate) events: Events,
    pub(crate) machine: Machine,
    pub(crate) budgets: Budgets,
    pub(crate) secrets: Secrets,
    pub(crate) probe: Probing,
    pub(crate) owner: String,
    pub(crate) drain: CancellationToken,
    /// One edit of deployments at a time.
    pub(crate) editing: tokio::sync::Mutex<()>,
    pub(crate) notes: mpsc::UnboundedSender<crate::transitions::Note>,
    /// Orphans deleted, by provider.
    pub(crate) orphans: Mutex<BTreeMap<String, u64>>,
    /// Postings that are not written down yet, of deployments that are gone too.
    pub(crate) unposted: Mutex<Postings>,
    /// Held while postings are written down.
    pub(crate) posting: tokio::sync::Mutex<()>,
    /// What providers ask for.
    pub(crate) quotes: Quotes,
    /// How starts went.
    pub(crate) cold_starts: ColdStarts,
    /// One replay at a time.
    pub(crate) simulating: Arc<tokio::sync::Mutex<()>>,
    /// Where requests that end are told.
    pub(crate) tail: broadcast::Sender<Ended>,
    /// Instances whose providers are no longer configured.
    pub(crate) out_of_reach: OutOfReach,
    /// The shared fleet, where there is one.
    pub(crate) fleet: Option<Fleet>,
    /// Its jobs that nobody will run any more.
    pub(crate) dead_letters: DeadLetters,
    /// Where work begun by a request goes on.
    pub(crate) runtime: Handle,
    base_domain: String,
    deployments: Mutex<BTreeMap<String, Arc<Controlled>>>,
    index: Mutex<HashMap<String, Arc<Instance>>>,
    nudges: mpsc::UnboundedSender<Arc<Controlled>>,
    last_tick: AtomicU64,
    loaded: AtomicBool,
}

impl ControlPlane {
    /// Loads what is written down, puts it in force and starts the loops.
    ///
    /// # Errors
    /// [`StartError`] when the store or a stored deployment cannot be used;
    /// nothing is started then.
    pub async fn start(parts: Parts) -> Result<Arc<Self>, StartError> {
        let owner = parts.store.owner().await?;
        let (nudges, nudged) = mpsc::unbounded_channel();
        let (notes, noted) = mpsc::unbounded_channel();
        let kept = parts.fleet.as_ref().map(|fleet| fleet.dead_letters);
        let (dead_letters, turns) = DeadLetters::new(kept.unwrap_or_default());
        let clock = parts.clock.clone();
        let redaction = parts.secrets.redaction().clone();
        let providers = parts.providers.into_iter().map(|(name, kind, adapter)| {
            (
                name.clone(),
                Arc::new(Registered::new(
                    &name,
                    kind,
                    adapter,
                    clock.clone(),
                    redaction.clone(),
                )),
            )
        });
        let control = Arc::new(ControlPlane {
            events: Events::start(parts.store.clone(), parts.clock.clone()),
            machine: Machine::new(parts.gpus),
            budgets: Budgets::new(parts.budget),
            secrets: parts.secrets,
            probe: Probing(parts.probe),
            providers: providers.collect(),
            store: parts.store,
            table: parts.table,
            last_tick: AtomicU64::new(parts.clock.now().nanos()),
            clock: parts.clock,
            defaults: parts.defaults,
            unposted: Mutex::default(),
            posting: tokio::sync::Mutex::new(()),
            quotes: Quotes::default(),
            cold_starts: ColdStarts::default(),
            simulating: Arc::default(),
            tail: crate::tail::outlet(),
            runtime: Handle::current(),
            base_domain: parts.base_domain,
            owner,
            drain: parts.drain,
            editing: tokio::sync::Mutex::new(()),
            notes,
            orphans: Mutex::default(),
            out_of_reach: OutOfReach::default(),
            fleet: parts.fleet.map(Fleet::new),
            dead_letters,
            deployments: Mutex::default(),
            index: Mutex::default(),
            nudges,
            loaded: AtomicBool::new(false),
        });
        control.read_gpus().await;
        control.load().await?;
        tokio::spawn(control.clone().write_notes(noted));
        tokio::spawn(control.clone().pass_when_nudged(nudged));
        tokio::spawn(control.clone().tick());
        tokio::spawn(control.clone().watch_gpus());
        tokio::spawn(control.clone().post_books());
        control.start_dead_letters(turns).await?;
        control.start_sweeps(parts.hints);
        Ok(control)
    }

    async fn load(self: &Arc<Self>) -> Result<(), StartError> {
        let mut found = Vec::new();
        for row in self.store.deployments().await? {
            found.push(self.controlled(row)?);
        }
        let instances = self.store.instances().await?;
        for deployment in found {
            self.deployments()
                .insert(deployment.live.name.to_string(), deployment);
        }
        self.open_books().await?;
        self.charge_absence(&instances).await?;
        for mut row in instances {
            if let Some(deployment) = self.deployment(&row.deployment) {
                let config = deployment.live.config.load_full();
                self.renew_fingerprint(&config.spec, &mut row).await?;
                self.adopt(&deployment, row);
            }
        }
        self.weigh_pods();
        for deployment in self.all() {
            self.begin_books(&deployment);
            self.publish(&deployment);
        }
        self.publish_table();
        self.loaded.store(true, Ordering::Release);
        Ok(())
    }

    /// The deployment of a stored row.
    fn controlled(&self, row: DeploymentRow) -> Result<Arc<Controlled>, StartError> {
        let spec = self.stored_spec(&row)?;
        let config = self.table_config(&row, spec);
        let live = Deployment::new(config, row.tier, self.clock.clone());
        let this_hour = self.budgets.this_hour.clone();
        let deployment = Controlled::new(Arc::new(live), row, this_hour);
        Ok(Arc::new(deployment))
    }

    pub(crate) fn stored_spec(&self, row: &DeploymentRow) -> Result<Spec, StartError> {
        let value = serde_json::from_str(&row.spec).unwrap_or_default();
        spec_from_json(&value, &self.defaults).map_err(|errors| StartError::Deployment {
            name: row.name.clone(),
            errors,
        })
    }

    /// What the request plane is told of a row.
    pub(crate) fn table_config(&self, row: &DeploymentRow, spec: Spec) -> Config {
        let forced = spec.forced.as_ref().map(|forced| {
            let until = forced.until.map_or(Moment::NEVER, |at| self.moment_of(at));
            (forced.tier, until)
        });
        Config {
            settings: spec.settings(&self.defaults),
            generation: row.generation,
            stopped: row.stopped,
            deleting: row.deleting,
            forced,
            // Checked when the specification was read.
            ignore: regex::RegexSet::new(&spec.activity.ignore).unwrap_or_default(),
            spec,
        }
    }

    /// A new deployment of a row just written.
    pub(crate) fn add(&self, row: DeploymentRow, spec: Spec) -> Arc<Controlled> {
        let config = self.table_config(&row, spec);
        let live = Deployment::new(config, row.tier, self.clock.clone());
        let this_hour = self.budgets.this_hour.clone();
        let deployment = Arc::new(Controlled::new(Arc::new(live), row, this_hour));
        self.deployments()
            .insert(deployment.live.name.to_string(), deployment.clone());
        deployment
    }

    /// Forgets a deployment that has been torn down.
    pub(crate) fn drop_deployment(&self, name: &str) {
        if let Some(gone) = self.deployments().remove(name) {
            self.close_books(&gone);
            // What waits there to be looked at holds the deployment in turn.
            gone.live.tail.take_after_start();
        }
        self.publish_table();
    }

    /// Puts the deployments in force for the request plane.
    pub(crate) fn publish_table(&self) {
        let live = self.all().into_iter().map(|d| d.live.clone());
        self.table.store(Snapshot::of(live, &self.base_domain));
    }

    /// The moment of a wall-clock time; the past is now.
    fn moment_of(&self, micros: i64) -> Moment {
        let left = micros.saturating_sub(self.clock.wall_micros()).max(0);
        self.clock.now() + Duration::from_micros(left as u64)
    }

    /// The deployment of that name.
    pub(crate) fn deployment(&self, name: &str) -> Option<Arc<Controlled>> {
        self.deployments().get(name).cloned()
    }

    /// Every deployment, by name.
    pub(crate) fn all(&self) -> Vec<Arc<Controlled>> {
        self.deployments().values().cloned().collect()
    }

    pub(crate) fn docker(&self) -> Option<&Arc<Registered>> {
        self.providers.get(DOCKER)
    }

    fn deployments(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Controlled>>> {
        self.deployments.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Every instance by its id.
    pub(crate) fn index(&self) -> MutexGuard<'_, HashMap<String, Arc<Instance>>> {
        self.index.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Asks for a pass over `deployment` soon.
    pub(crate) fn nudge(&self, deployment: &Arc<Controlled>) {
        if deployment.nudge() {
            // Nobody passes any more once we drain.
            let _ = self.nudges.send(deployment.clone());
        }
    }

    async fn pass_when_nudged(
        self: Arc<Self>,
        mut nudged: mpsc::UnboundedReceiver<Arc<Controlled>>,
    ) {
        while let Some(deployment) = nudged.recv().await {
            if self.drain.is_cancelled() {
                return;
            }
            let control = self.clone();
            tokio::spawn(async move { control.pass(&deployment).await });
        }
    }

    async fn tick(self: Arc<Self>) {
        let mut next = self.clock.now() + TICK;
        loop {
            tokio::select! {
                () = self.clock.sleep_until(next) => {}
                () = self.drain.cancelled() => return,
            }
            let now = self.clock.now();
            next = now + TICK;
            self.keep_books(now);
            self.heed_budgets();
            self.machine.forget_claims(now);
            for deployment in self.all() {
                if !self.rests(&deployment) {
                    self.nudge(&deployment);
                }
            }
            self.look(now);
            // Told last: who sees it knows that every pass was asked for.
            self.last_tick.store(now.nanos(), Ordering::Release);
        }
    }

    /// Notes how everything is, for who looks at it later.
    fn look(self: &Arc<Self>, now: Moment) {
        self.heed_watchers();
        self.note_first_answers();
        if now
            .since(Moment::ORIGIN)
            .as_secs()
            .is_multiple_of(STEP.as_secs())
        {
            self.sample(now);
        }
    }

    /// How many deployments are to be passed over soon.
    pub(crate) fn passes_pending(&self) -> usize {
        let all = self.all();
        let waits = |d: &&Arc<Controlled>| {
            d.nudged.load(Ordering::Acquire) || d.passing.try_lock().is_err()
        };
        all.iter().filter(waits).count()
    }

    /// How many instances something is being done about.
    pub(crate) fn instances_worked_on(&self) -> usize {
        let now = self.clock.now();
        let index = self.index();
        index.values().filter(|i| i.is_worked_on(now)).count()
    }

    /// How many loops and tasks have something to do now that they have not
    /// done: passes, drivers, sweeps, the tick itself.
    pub fn under_way(&self) -> usize {
        let now = self.clock.now();
        let swept = self.providers.values().filter(|p| p.is_swept(now)).count();
        let ticking = usize::from(self.tick_age() >= TICK);
        self.passes_pending() + self.instances_worked_on() + swept + ticking
    }

    /// Time since the loops last ticked.
    pub fn tick_age(&self) -> Duration {
        let last = Moment::from_nanos(self.last_tick.load(Ordering::Acquire));
        self.clock.now().since(last)
    }

    /// Whether new work may be taken, as far as memory tells.
    pub fn is_loaded(&self) -> bool {
        self.loaded.load(Ordering::Acquire) && !self.drain.is_cancelled()
    }
}
