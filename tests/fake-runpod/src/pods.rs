//! Pods: what they are asked to be, and where they stand.

mod wanted;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use thermocline_policy::Moment;
use tokio_util::sync::CancellationToken;

use crate::catalog::{self, CPUS, DATA_CENTERS};
use crate::edge;
use crate::faults::{Faults, take};
use crate::problem::Problem;
use crate::schema::{CREATE_POD, POD_ACTION, UPDATE_POD, mistakes};
use crate::service::{Service, younger};
use crate::settings::Settings;
use wanted::{http_ports, price, reads_back};

/// How a pod ended, if it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Up,
    Exited,
    Error,
}

/// One pod.
pub(crate) struct Pod {
    /// What it was asked to be, as it reads back.
    pub(crate) said: Map<String, Value>,
    pub(crate) phase: Phase,
    pub(crate) made: Moment,
    /// When its present run began.
    pub(crate) began: Moment,
    pub(crate) never_ready: bool,
    /// Dollars an hour while it is up.
    pub(crate) cost: f64,
    /// Dollars of runs that ended.
    spent: f64,
    pub(crate) life: CancellationToken,
}

impl Pod {
    /// Its state as observed at `now`.
    pub(crate) fn status(&self, now: Moment, settings: &Settings) -> &'static str {
        let age = now.since(self.began);
        match self.phase {
            Phase::Exited => "EXITED",
            Phase::Error => "ERROR",
            Phase::Up if age < settings.provisioning => "PROVISIONING",
            Phase::Up if self.never_ready => "STARTING",
            Phase::Up if age < settings.provisioning + settings.starting => "STARTING",
            Phase::Up => "RUNNING",
        }
    }

    /// Whether its proxy reaches it.
    pub(crate) fn listens(&self, now: Moment, settings: &Settings) -> bool {
        let since = settings.provisioning + settings.starting + settings.listening;
        self.phase == Phase::Up && !self.never_ready && now.since(self.began) >= since
    }

    /// What it has cost until `now`, dollars.
    pub(crate) fn spent(&self, now: Moment) -> f64 {
        let running = match self.phase {
            Phase::Up => now.since(self.began).as_secs_f64() / 3_600.0 * self.cost,
            Phase::Exited | Phase::Error => 0.0,
        };
        self.spent + running
    }

    pub(crate) fn end(&mut self, phase: Phase, now: Moment) {
        (self.spent, self.phase) = (self.spent(now), phase);
    }

    pub(crate) fn env(&self, name: &str) -> Option<&str> {
        self.said.get("env")?.get(name)?.as_str()
    }

    fn describe(&self, id: &str, status: &str, now: Moment, settings: &Settings) -> Value {
        let mut said = self.said.clone();
        let up = self.phase == Phase::Up;
        let running = status == "RUNNING";
        said.insert("id".into(), id.into());
        said.insert("status".into(), status.into());
        said.insert("actions".into(), json!(actions(status)));
        said.insert("cost".into(), json!(if up { self.cost } else { 0.0 }));
        let uptime = now
            .since(self.began)
            .saturating_sub(settings.provisioning)
            .as_secs();
        let runtime = running.then(|| json!({ "uptime": uptime, "ports": [] }));
        said.insert("runtime".into(), runtime.unwrap_or_default());
        Value::Object(said)
    }
}

/// What may be done with a pod in `status`.
fn actions(status: &str) -> &'static [&'static str] {
    match status {
        "RUNNING" => &["stop", "restart", "terminate"],
        "EXITED" | "ERROR" => &["start", "terminate"],
        _ => &["stop", "terminate"],
    }
}

impl Service {
    pub(crate) fn create_pod(self: &Arc<Self>, body: &Value) -> Result<Value, Problem> {
        refuse(mistakes(body, &CREATE_POD))?;
        self.check_pod(body)?;
        let (now, faults) = (self.clock.now(), self.faults());
        let data_center = self.place(body, &faults)?;
        if faults.broke {
            return Err(Problem::new(402, "insufficient balance"));
        }
        let pod = Pod {
            said: reads_back(body, data_center, self.timestamp(faults.skew_s)),
            phase: Phase::Up,
            made: now,
            began: now,
            never_ready: faults.never_ready,
            cost: price(body),
            spent: 0.0,
            life: CancellationToken::new(),
        };
        let (id, life) = {
            let mut state = self.lock();
            let (id, life) = (state.fresh_id(), pod.life.clone());
            state.pods_made += 1;
            state.pods.insert(id.clone(), pod);
            (id, life)
        };
        for port in http_ports(body) {
            edge::open_pod(self.clone(), &id, port, &life);
        }
        self.changed.notify_waiters();
        self.pod(&id)
    }

    /// What no schema says.
    fn check_pod(&self, body: &Value) -> Result<(), Problem> {
        let has = |key: &str| body.get(key).is_some_and(|value| !value.is_null());
        if has("templateId") {
            return Err(Problem::new(404, "template not found"));
        }
        if !has("image") {
            return Err(Problem::invalid(vec![
                "$: missing property 'image'".to_owned(),
            ]));
        }
        let mounts = &body["mounts"];
        match () {
            () if has("gpu") == has("cpu") => {
                Err(Problem::new(400, "exactly one of gpu and cpu is required"))
            }
            () if !mounts["persistent"].is_null() && !mounts["network"].is_null() => Err(
                Problem::new(400, "mounts: persistent and network exclude each other"),
            ),
            () if has("cpu") && !mounts["persistent"].is_null() => {
                Err(Problem::new(400, "CPU pods have no persistent mount"))
            }
            () if !body["gpu"]["minCudaVersion"].is_null()
                && !body["gpu"]["allowedCudaVersions"].is_null() =>
            {
                Err(Problem::new(
                    400,
                    "minCudaVersion and allowedCudaVersions exclude each other",
                ))
            }
            () => Ok(()),
        }
    }

    /// A data centre with stock for `body`.
    fn place(&self, body: &Value, faults: &Faults) -> Result<&'static str, Problem> {
        let cloud = body["cloud"].as_str().unwrap_or("SECURE");
        let hardware = body["gpu"]["id"]
            .as_str()
            .or(body["cpu"]["id"].as_str())
            .unwrap_or_default();
        let known = catalog::gpu(hardware).is_some() || CPUS.iter().any(|cpu| cpu.0 == hardware);
        // A GPU without a count is answered so, too.
        let counted = body["gpu"].is_null() || body["gpu"]["count"].is_u64();
        let most = if cloud == "SECURE" { 8 } else { 4 };
        let few = body["gpu"]["count"].as_u64().unwrap_or(1) <= most;
        if !known || !counted || !few || faults.out_of(&[hardware, cloud]) {
            return Err(Problem::no_stock());
        }
        let wanted = body["dataCenterIds"].as_array();
        let wanted = wanted.filter(|list| !list.is_empty());
        let mut centers = DATA_CENTERS.into_iter();
        let found = centers.find(|center| {
            wanted.is_none_or(|list| list.iter().any(|it| it == center))
                && !faults.out_of(&[center])
        });
        found.ok_or_else(Problem::no_stock)
    }

    pub(crate) fn pod(&self, id: &str) -> Result<Value, Problem> {
        let now = self.clock.now();
        let mut state = self.lock();
        let reported = state.reported();
        let state = &*state;
        let pod = state.pods.get(id).ok_or_else(Problem::not_found)?;
        let status = reported
            .as_deref()
            .unwrap_or(pod.status(now, &self.settings));
        Ok(pod.describe(id, status, now, &self.settings))
    }

    /// GET: unknown while young, when a fault says so.
    pub(crate) fn seen_pod(&self, id: &str) -> Result<Value, Problem> {
        let (now, lag) = (self.clock.now(), self.faults().get_lag_s);
        if self
            .lock()
            .pods
            .get(id)
            .is_some_and(|pod| younger(pod.made, now, lag))
        {
            return Err(Problem::not_found());
        }
        self.pod(id)
    }

    pub(crate) fn pods(&self) -> Vec<Value> {
        let (now, faults) = (self.clock.now(), self.faults());
        let mut state = self.lock();
        let reported = state.reported();
        let visible = state
            .pods
            .iter()
            .filter(|(_, pod)| !younger(pod.made, now, faults.list_lag_s));
        let describe = |(id, pod): (&String, &Pod)| {
            let status = reported
                .as_deref()
                .unwrap_or(pod.status(now, &self.settings));
            let mut said = pod.describe(id, status, now, &self.settings);
            if self.settings.env_null_in_lists {
                said["env"] = Value::Null;
            }
            said
        };
        visible.map(describe).collect()
    }

    pub(crate) fn update_pod(&self, id: &str, body: &Value) -> Result<Value, Problem> {
        refuse(mistakes(body, &UPDATE_POD))?;
        let mut state = self.lock();
        let pod = state.pods.get_mut(id).ok_or_else(Problem::not_found)?;
        for (key, value) in body.as_object().into_iter().flatten() {
            pod.said.insert(key.clone(), value.clone());
        }
        drop(state);
        self.pod(id)
    }

    pub(crate) fn delete_pod(&self, id: &str) -> Result<(), Problem> {
        let now = self.clock.now();
        let mut state = self.lock();
        let lag = state.faults.delete_lag_s;
        let known = state
            .pods
            .get(id)
            .is_some_and(|pod| !younger(pod.made, now, lag));
        if !known {
            return Err(Problem::not_found());
        }
        if !take(&mut state.faults.ignored_deletes) {
            state.drop_pod(id, now);
        }
        Ok(())
    }

    pub(crate) fn act_on_pod(&self, id: &str, body: &Value) -> Result<Option<Value>, Problem> {
        refuse(mistakes(body, &POD_ACTION))?;
        let action = body["action"].as_str().unwrap_or_default();
        let now = self.clock.now();
        let mut state = self.lock();
        let refused = state.faults.start_refused;
        let pod = state.pods.get_mut(id).ok_or_else(Problem::not_found)?;
        if !actions(pod.status(now, &self.settings)).contains(&action) {
            return Err(Problem::new(
                409,
                "the action is not valid in the pod's state",
            ));
        }
        match action {
            "stop" => pod.end(Phase::Exited, now),
            "start" if refused => {
                let text = "There are not enough free GPUs on the host machine to start this pod.";
                return Err(Problem::new(400, text));
            }
            "terminate" => {
                state.drop_pod(id, now);
                return Ok(None);
            }
            _ => {
                pod.end(Phase::Up, now);
                pod.began = now;
            }
        }
        drop(state);
        self.pod(id).map(Some)
    }
}

impl crate::service::State {
    /// The state that a fault makes every pod report this time.
    fn reported(&mut self) -> Option<String> {
        self.reads += 1;
        let states = &self.faults.states;
        states.get(self.reads % states.len().max(1)).cloned()
    }

    /// Ends a pod; it costs nothing from now on.
    pub(crate) fn drop_pod(&mut self, id: &str, now: Moment) {
        if let Some(pod) = self.pods.remove(id) {
            pod.life.cancel();
            self.bills.push((id.to_owned(), pod.spent(now)));
        }
    }
}

pub(crate) fn refuse(mistakes: Vec<String>) -> Result<(), Problem> {
    match mistakes.is_empty() {
        true => Ok(()),
        false => Err(Problem::invalid(mistakes)),
    }
}
