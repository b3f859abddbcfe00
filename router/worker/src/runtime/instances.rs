//! Models as instances of a provider that makes them on this node: containers
//! of the Docker daemon, processes of the simulated cloud.

mod left;
mod pool;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::future::try_join_all;
use http::StatusCode;
use thermocline_clock::Clock;
use thermocline_policy::Tier;
use thermocline_provider::{InstanceRequest, Provider, ProviderInstance, ProviderState, list_all};
use thermocline_wire::fleet::Model;
use tokio_util::sync::CancellationToken;

use super::forward::Forward;
use super::{RunError, RunRequest, RunResponse, Runtime};
use crate::LoadError;
use left::Left;
use pool::{Member, Place, Pool};
use start::Start;

/// When to look whether a member that broke off has died: its provider may see it late.
const LOOKS: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(200),
    Duration::from_millis(800),
];

/// Between two tries to start a member anew.
const RESTART_PAUSE: Duration = Duration::from_secs(5);

/// A runtime over a provider that makes instances on this node.
///
/// What it makes carries its own owner's mark, so that it finds what an earlier
/// life has left, and nobody else's sweep touches it.
#[derive(Clone)]
pub struct InstanceRuntime(Arc<Parts>);

struct Parts {
    provider: Arc<dyn Provider>,
    owner: String,
    tier: Tier,
    clock: Clock,
    forward: Forward,
    held: Mutex<BTreeMap<String, Held>>,
    left: Left,
}

/// What a deployment holds here.
#[derive(Default)]
struct Held {
    keys: BTreeSet<String>,
    /// Those of an earlier life, for the next load.
    adopted: Vec<String>,
    pool: Option<Arc<Pool>>,
    /// With the GPUs that it was placed on.
    model: Option<(Model, Vec<String>)>,
    /// Ends what starts members anew.
    over: CancellationToken,
}

impl InstanceRuntime {
    /// Instances of `tier` at `provider`, marked as `owner`'s: letters, digits and `-`.
    pub fn new(
        provider: Arc<dyn Provider>,
        owner: impl Into<String>,
        tier: Tier,
        clock: Clock,
    ) -> Self {
        InstanceRuntime(Arc::new(Parts {
            provider,
            owner: owner.into(),
            tier,
            forward: Forward::new(clock.clone()),
            clock,
            held: Mutex::default(),
            left: Left::default(),
        }))
    }
}

impl Parts {
    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pool(&self, deployment: &str) -> Option<Arc<Pool>> {
        self.held().get(deployment)?.pool.clone()
    }

    fn keep(&self, deployment: &str, key: &str) {
        let mut held = self.held();
        let entry = held.entry(deployment.to_owned()).or_default();
        entry.keys.insert(key.to_owned());
    }

    /// Starts one more instance. Its key is kept first, so that it can be cleared
    /// whatever becomes of this call.
    async fn start(&self, model: &Model, gpus: &[String]) -> Result<Member, LoadError> {
        let mark = left::mark(&model.deployment, &model.generation, gpus);
        let key = left::new_key(&mark);
        self.keep(&model.deployment, &key);
        let start = self.begin(model, false);
        start.ready(&key, &self.request(model, gpus)).await
    }

    /// Goes on with the instance `key`, which is made anew if it is gone.
    async fn go_on(&self, key: &str, model: &Model, gpus: &[String]) -> Result<Member, LoadError> {
        let start = self.begin(model, true);
        start.ready(key, &self.request(model, gpus)).await
    }

    fn begin<'a>(&'a self, model: &'a Model, goes_on: bool) -> Start<'a> {
        Start {
            provider: &*self.provider,
            forward: &self.forward,
            clock: &self.clock,
            model,
            deadline: self.clock.now() + Duration::from_millis(model.start_timeout_ms),
            goes_on,
        }
    }

    fn request(&self, model: &Model, gpus: &[String]) -> InstanceRequest {
        InstanceRequest {
            devices: gpus.to_vec(),
            ..start::request(model, &self.owner, self.tier)
        }
    }

    async fn owned(&self) -> Result<Vec<ProviderInstance>, LoadError> {
        let listed = list_all(&*self.provider, &self.owner).await;
        let (instances, _) = listed.map_err(|e| LoadError::OutOfCapacity(e.detail))?;
        Ok(instances)
    }

    /// What is adopted of `model`; otherwise what its deployment holds goes.
    async fn adopted(&self, model: &Model, gpus: &[String]) -> Result<Vec<String>, LoadError> {
        let adopted = match self.held().get_mut(&model.deployment) {
            Some(held) => std::mem::take(&mut held.adopted),
            None => Vec::new(),
        };
        // The model may have changed since it was adopted.
        let mark = left::mark(&model.deployment, &model.generation, gpus);
        if adopted.is_empty() || !adopted.iter().all(|key| key.ends_with(&mark)) {
            self.unload(&model.deployment).await?;
            return Ok(Vec::new());
        }
        Ok(adopted)
    }

    /// What `deployment` holds goes.
    async fn unload(&self, deployment: &str) -> Result<(), LoadError> {
        let keys = match self.held().get_mut(deployment) {
            Some(held) => {
                held.over.cancel();
                held.pool.take().iter().for_each(|pool| pool.close());
                held.keys.clone()
            }
            None => return Ok(()),
        };
        let all = self.owned().await?;
        self.clear(all, |key| keys.contains(key)).await?;
        self.held().remove(deployment);
        Ok(())
    }

    async fn clear(
        &self,
        all: Vec<ProviderInstance>,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(), LoadError> {
        let clear = all
            .iter()
            .filter(|instance| wanted(&instance.key) && instance.state != ProviderState::Gone)
            .map(|instance| start::gone(&*self.provider, &self.clock, &instance.id));
        try_join_all(clear).await.map(|_| ())
    }

    /// Whether the member has died; looked at more than once.
    async fn has_died(&self, id: &str) -> bool {
        for pause in LOOKS {
            self.clock.sleep(pause).await;
            match self.provider.get(id).await {
                Ok(Some(instance)) if lives(instance.state) => {}
                Ok(_) => return true,
                Err(_) => {}
            }
        }
        false
    }

    /// The member of `place` is out of turn; another is started in its seat
    /// where there is a reason to keep the pool.
    fn replace(self: &Arc<Self>, deployment: &str, place: &Place, pool: &Arc<Pool>) {
        let Some(seat) = pool.remove(&place.member.id) else {
            return;
        };
        let (parts, pool) = (self.clone(), pool.clone());
        let (deployment, id) = (deployment.to_owned(), place.member.id.clone());
        let over = self.held().get(&deployment).map(|held| held.over.clone());
        tokio::spawn(
            over.unwrap_or_default()
                .run_until_cancelled_owned(async move {
                    parts.restart(&deployment, seat, &id, &pool).await;
                }),
        );
    }

    /// Starts another member in `seat`, again and again while others serve.
    async fn restart(&self, deployment: &str, seat: usize, id: &str, pool: &Arc<Pool>) {
        pool.vacant(seat).await;
        loop {
            let started = match start::gone(&*self.provider, &self.clock, id).await {
                Ok(()) => self.another(deployment).await,
                Err(error) => Err(error),
            };
            match started {
                Ok(member) => return pool.seat(seat, member),
                Err(error) if !pool.has_members() => {
                    tracing::warn!(deployment, %error, "the last member was not started anew");
                    return pool.close();
                }
                Err(error) => tracing::warn!(deployment, %error, "a member was not started anew"),
            }
            self.clock.sleep(RESTART_PAUSE).await;
        }
    }

    async fn another(&self, deployment: &str) -> Result<Member, LoadError> {
        let model = self.held().get(deployment).and_then(|h| h.model.clone());
        let unloaded = || LoadError::OutOfCapacity("it was unloaded meanwhile".into());
        let (model, gpus) = model.ok_or_else(unloaded)?;
        self.start(&model, &gpus).await
    }

    /// What became of the member that gave no answer.
    async fn without_answer(
        self: &Arc<Self>,
        deployment: &str,
        place: &Place,
        pool: &Arc<Pool>,
    ) -> RunError {
        let died = self.has_died(&place.member.id).await;
        let restarts = pool.terms().restart_on_error;
        match (died, pool.is_shared() || restarts) {
            (true, false) => {
                pool.remove(&place.member.id);
                pool.close();
            }
            (true, true) => self.replace(deployment, place, pool),
            (false, _) if restarts => self.replace(deployment, place, pool),
            (false, _) => {}
        }
        if died {
            RunError::Died
        } else {
            RunError::BrokeOff
        }
    }
}

#[async_trait]
impl Runtime for InstanceRuntime {
    async fn clear(&self) -> Result<(), LoadError> {
        let parts = &self.0;
        // Listed first: whatever was there by then and is held is known to be.
        let all = parts.owned().await?;
        let kept: BTreeSet<String> = parts
            .held()
            .values()
            .flat_map(|held| held.keys.iter().cloned())
            .collect();
        parts.clear(all, |key| !kept.contains(key)).await
    }

    async fn find_left(&self) -> Result<bool, LoadError> {
        let all = self.0.owned().await?;
        let living = all.into_iter().filter(|instance| lives(instance.state));
        Ok(self.0.left.found(living.map(|instance| instance.key)))
    }

    fn adopt(&self, deployment: &str, generation: &str, gpus: &[String]) -> bool {
        let keys = self.0.left.take(&left::mark(deployment, generation, gpus));
        if keys.is_empty() {
            return false;
        }
        let mut held = self.0.held();
        let entry = held.entry(deployment.to_owned()).or_default();
        entry.keys.extend(keys.iter().cloned());
        entry.adopted = keys;
        true
    }

    async fn alive(&self) -> bool {
        self.0.provider.capabilities().await.is_ok() && self.0.owned().await.is_ok()
    }

    async fn load(&self, model: &Model, gpus: &[String]) -> Result<(), LoadError> {
        let parts = &self.0;
        let adopted = parts.adopted(model, gpus).await?;
        let going_on = adopted.iter().map(|key| parts.go_on(key, model, gpus));
        let mut members = match try_join_all(going_on).await {
            Ok(members) => members,
            Err(error) => {
                let deployment = model.deployment.as_str();
                tracing::warn!(deployment, %error, "what was left does not go on");
                parts.unload(deployment).await?;
                Vec::new()
            }
        };
        let count = pool::instances(&model.terms).saturating_sub(members.len());
        members.extend(try_join_all((0..count).map(|_| parts.start(model, gpus))).await?);
        let mut held = parts.held();
        let entry = held.entry(model.deployment.clone()).or_default();
        entry.pool = Some(Pool::new(members, model.terms.clone()));
        entry.model = Some((model.clone(), gpus.to_vec()));
        Ok(())
    }

    async fn unload(&self, deployment: &str) -> Result<(), LoadError> {
        self.0.unload(deployment).await
    }

    async fn run(&self, deployment: &str, request: RunRequest) -> Result<RunResponse, RunError> {
        let parts = &self.0;
        let pool = parts.pool(deployment).ok_or(RunError::NotLoaded)?;
        let place = pool.place().await.ok_or(RunError::NotLoaded)?;
        let sent = parts.forward.send(&place.member.address, request).await;
        let Ok(mut response) = sent else {
            return Err(parts.without_answer(deployment, &place, &pool).await);
        };
        if response.status.is_server_error() && pool.terms().restart_on_error {
            errs(&response.status, deployment);
            parts.replace(deployment, &place, &pool);
        }
        let body = std::mem::replace(&mut response.body, Box::pin(futures_util::stream::empty()));
        response.body = Box::pin(body.inspect(move |_| {
            let _until_its_end = &place;
        }));
        Ok(response)
    }

    async fn holds(&self, deployment: &str) -> bool {
        let pool = self.0.pool(deployment);
        pool.is_some_and(|pool| pool.is_open())
    }
}

fn errs(status: &StatusCode, deployment: &str) {
    tracing::info!(deployment, %status, "a member that errs is started anew");
}

fn lives(state: ProviderState) -> bool {
    matches!(state, ProviderState::Ready | ProviderState::Starting)
}
