//! A runtime that does as its test says: how long loads and runs take, and what
//! becomes of a request, is in the request's body.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use thermocline_wire::fleet::Model;
use thermocline_worker::{LoadError, RunError, RunRequest, RunResponse, Runtime};

/// What happened, and what is to happen.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) loads: Vec<String>,
    pub(crate) unloads: Vec<String>,
    /// Deployment, body and moment of each run that began.
    pub(crate) runs: Vec<(String, String, Moment)>,
    pub(crate) held: BTreeSet<String>,
    pub(crate) load_time: BTreeMap<String, Duration>,
    pub(crate) running: BTreeMap<String, u32>,
    pub(crate) most_running: BTreeMap<String, u32>,
    pub(crate) most_memory: u64,
    memory: BTreeMap<String, u64>,
    pub(crate) down: bool,
    /// Looks at its life that show none, though it lives.
    pub(crate) bad_answers: u32,
    /// Nothing can be unloaded.
    pub(crate) stuck: bool,
    /// What an earlier life left: deployments with their generations.
    pub(crate) left: BTreeMap<String, String>,
    adopted: BTreeSet<String>,
    /// Requests fail until then.
    pub(crate) broken_until: Option<Moment>,
}

#[derive(Clone)]
pub(crate) struct ScriptRuntime {
    clock: Clock,
    script: Arc<Mutex<Script>>,
}

impl ScriptRuntime {
    pub(crate) fn new(clock: Clock) -> Self {
        ScriptRuntime {
            clock,
            script: Arc::default(),
        }
    }

    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    pub(crate) fn bodies(&self) -> Vec<String> {
        self.script()
            .runs
            .iter()
            .map(|(_, body, _)| body.clone())
            .collect()
    }

    /// Seconds since the clock's origin of each run.
    pub(crate) fn moments(&self) -> Vec<f64> {
        let at = |at: &Moment| at.since(Moment::ORIGIN).as_secs_f64();
        self.script()
            .runs
            .iter()
            .map(|(_, _, moment)| at(moment))
            .collect()
    }

    /// Its process dies, and is up again when `down` is false.
    pub(crate) fn dies(&self, down: bool) {
        let mut script = self.script();
        script.down = down;
        script.held.clear();
        script.memory.clear();
    }
}

/// A run that counts as long as it lasts.
struct Running(ScriptRuntime, String);

impl Running {
    fn new(runtime: &ScriptRuntime, deployment: &str) -> Self {
        let mut script = runtime.script();
        let running = script.running.entry(deployment.to_owned()).or_default();
        *running += 1;
        let now = *running;
        let most = script
            .most_running
            .entry(deployment.to_owned())
            .or_default();
        *most = now.max(*most);
        Running(runtime.clone(), deployment.to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(running) = self.0.script().running.get_mut(&self.1) {
            *running -= 1;
        }
    }
}

#[async_trait]
impl Runtime for ScriptRuntime {
    async fn find_left(&self) -> Result<bool, LoadError> {
        Ok(!self.script().left.is_empty())
    }

    fn adopt(&self, deployment: &str, generation: &str, _: &[String]) -> bool {
        let mut script = self.script();
        let is_it = script
            .left
            .get(deployment)
            .is_some_and(|it| it == generation);
        if is_it {
            script.left.remove(deployment);
            script.adopted.insert(deployment.to_owned());
        }
        is_it
    }

    async fn clear(&self) -> Result<(), LoadError> {
        self.script().left.clear();
        Ok(())
    }

    async fn alive(&self) -> bool {
        let mut script = self.script();
        let bad = script.bad_answers > 0;
        script.bad_answers = script.bad_answers.saturating_sub(1);
        !script.down && !bad
    }

    async fn load(&self, model: &Model, _: &[String]) -> Result<(), LoadError> {
        let time = {
            let mut script = self.script();
            script.held.remove(&model.deployment);
            script.loads.push(model.deployment.clone());
            script
                .memory
                .insert(model.deployment.clone(), model.terms.memory_mib);
            script.most_memory = script.most_memory.max(script.memory.values().sum());
            let adopted = script.adopted.remove(&model.deployment);
            script
                .load_time
                .get(&model.deployment)
                .filter(|_| !adopted)
                .copied()
                .unwrap_or_default()
        };
        self.clock.sleep(time).await;
        if model.image == "broken" {
            return Err(LoadError::Incompatible("no such layer".into()));
        }
        self.script().held.insert(model.deployment.clone());
        Ok(())
    }

    async fn unload(&self, deployment: &str) -> Result<(), LoadError> {
        let mut script = self.script();
        if script.stuck {
            return Err(LoadError::OutOfCapacity("it does not go".into()));
        }
        script.unloads.push(deployment.to_owned());
        script.held.remove(deployment);
        script.memory.remove(deployment);
        Ok(())
    }

    async fn run(&self, deployment: &str, request: RunRequest) -> Result<RunResponse, RunError> {
        if !self.script().held.contains(deployment) {
            return Err(RunError::NotLoaded);
        }
        let body = String::from_utf8(request.payload.to_vec()).unwrap();
        let now = self.clock.now();
        let _running = Running::new(self, deployment);
        self.script()
            .runs
            .push((deployment.to_owned(), body.clone(), now));
        if let Some((_, seconds)) = body.split_once("takes ") {
            self.clock
                .sleep(Duration::from_secs(seconds.parse().unwrap()))
                .await;
        }
        if body.contains("kills") || !self.script().held.contains(deployment) {
            self.script().held.remove(deployment);
            return Err(RunError::Died);
        }
        let broken = self
            .script()
            .broken_until
            .is_some_and(|until| self.clock.now() < until);
        let status = match broken || body.contains("fails") {
            true => StatusCode::INTERNAL_SERVER_ERROR,
            false => StatusCode::OK,
        };
        let answer = Bytes::from(format!("{deployment} answers {body}"));
        Ok(RunResponse {
            status,
            headers: HeaderMap::new(),
            body: Box::pin(futures_util::stream::iter([Ok(answer)])),
        })
    }

    async fn holds(&self, deployment: &str) -> bool {
        self.script().held.contains(deployment)
    }
}
