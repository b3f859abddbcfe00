//! Serverless endpoints: what they are asked to be, and what the platform does
//! to them when nobody uses them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Map, Value, json};
use thermocline_policy::Moment;
use tokio_util::sync::CancellationToken;

use crate::catalog::{self, GPUS};
use crate::edge;
use crate::faults::take;
use crate::fleet::{Bounds, Fleet};
use crate::jobs::Job;
use crate::pods::refuse;
use crate::problem::Problem;
use crate::schema::{CREATE_ENDPOINT, UPDATE_ENDPOINT, mistakes};
use crate::service::{Service, younger};

const DAY: Duration = Duration::from_secs(86_400);

/// One endpoint.
pub(crate) struct Endpoint {
    pub(crate) id: String,
    pub(crate) queue: bool,
    pub(crate) made: Moment,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) life: CancellationToken,
    pub(crate) jobs: Mutex<BTreeMap<String, Arc<Job>>>,
    said: Mutex<Map<String, Value>>,
    last_use: Mutex<Moment>,
}

impl Endpoint {
    pub(crate) fn jobs(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Job>>> {
        lock(&self.jobs)
    }

    pub(crate) fn said(&self, key: &str) -> Value {
        lock(&self.said).get(key).cloned().unwrap_or_default()
    }

    /// Notes that a request came at `now`.
    pub(crate) fn used(&self, now: Moment) {
        self.neglect(now);
        *lock(&self.last_use) = now;
    }

    /// What has become of it for want of use.
    fn neglect(&self, now: Moment) {
        let unused = now.since(*lock(&self.last_use));
        let most = match () {
            () if unused >= DAY * 7 => 0,
            () if unused >= DAY * 3 => 2,
            () => return,
        };
        let bounds = self.fleet.bounds();
        if bounds.max > most {
            self.fleet.set_bounds(Bounds {
                max: most,
                ..bounds
            });
        }
    }

    /// What its workers have cost, dollars.
    pub(crate) fn spent(&self) -> f64 {
        let pool = self.said("gpu")["pools"][0]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let price = GPUS
            .iter()
            .find(|gpu| gpu.2 == pool)
            .map_or(0.1, |gpu| gpu.6);
        self.fleet.seconds() / 3_600.0 * price
    }

    fn describe(&self, service: &Service) -> Value {
        self.neglect(service.clock.now());
        let bounds = self.fleet.bounds();
        let mut said = lock(&self.said).clone();
        said.insert("id".into(), self.id.clone().into());
        let idle = bounds.idle.as_secs();
        let workers = json!({ "min": bounds.min, "max": bounds.max, "idleTimeout": idle });
        said.insert("workers".into(), workers);
        Value::Object(said)
    }
}

impl Service {
    pub(crate) fn create_endpoint(self: &Arc<Self>, body: &Value) -> Result<Value, Problem> {
        refuse(mistakes(body, &CREATE_ENDPOINT))?;
        let bounds = self.check_endpoint(body)?;
        let faults = self.faults();
        if faults.broke {
            return Err(Problem::new(402, "insufficient balance"));
        }
        let now = self.clock.now();
        let queue = body["type"] == "QUEUE";
        let mut said = reads_back(body, self.timestamp(faults.skew_s));
        let endpoint = {
            let mut state = self.lock();
            let id = state.fresh_id();
            said.insert("requestUrls".into(), request_urls(&id, queue));
            let endpoint = Arc::new(Endpoint {
                id: id.clone(),
                queue,
                made: now,
                fleet: Fleet::new(self.clock.clone(), bounds),
                life: CancellationToken::new(),
                jobs: Mutex::default(),
                said: Mutex::new(said),
                last_use: Mutex::new(now),
            });
            state.endpoints.insert(id, endpoint.clone());
            endpoint
        };
        if !queue {
            edge::open_endpoint(self.clone(), &endpoint);
        }
        self.changed.notify_waiters();
        Ok(endpoint.describe(self))
    }

    /// What no schema says, and the bounds of its fleet.
    fn check_endpoint(&self, body: &Value) -> Result<Bounds, Problem> {
        if !body["templateId"].is_null() {
            return Err(Problem::new(404, "template not found"));
        }
        if body["image"].is_null() {
            return Err(missing("$", "image"));
        }
        check_scaling(body)?;
        if body["gpu"].is_null() == body["cpu"].is_null() {
            return Err(Problem::new(400, "exactly one of gpu and cpu is required"));
        }
        check_pools(&body["gpu"])?;
        let each = match body["type"] == "QUEUE" {
            true => 1,
            false => body["scaling"]["requestCount"].as_u64().unwrap_or(1) as u32,
        };
        let usual = Bounds {
            min: 0,
            max: 3,
            idle: Duration::from_secs(10),
            each,
        };
        let bounds = bounded(&body["workers"], usual);
        self.check_quota(None, bounds.max)?;
        Ok(bounds)
    }

    fn check_quota(&self, but: Option<&str>, max: u32) -> Result<(), Problem> {
        let quota = self.settings.worker_quota;
        let state = self.lock();
        let others = state
            .endpoints
            .values()
            .filter(|it| but != Some(it.id.as_str()));
        let taken: u32 = others.map(|it| it.fleet.bounds().max).sum();
        if taken + max <= quota {
            return Ok(());
        }
        let left = quota.saturating_sub(taken);
        Err(Problem::new(
            400,
            &format!(
                "Max workers across all endpoints must not exceed your workers quota ({quota}). \
                 Reduce the max workers for other endpoints or lower the max worker count for this \
                 endpoint to at most {left}."
            ),
        ))
    }

    pub(crate) fn endpoint(&self, id: &str) -> Option<Arc<Endpoint>> {
        self.lock().endpoints.get(id).cloned()
    }

    pub(crate) fn seen_endpoint(&self, id: &str) -> Result<Value, Problem> {
        let (now, lag) = (self.clock.now(), self.faults().get_lag_s);
        let endpoint = self.endpoint(id).filter(|it| !younger(it.made, now, lag));
        Ok(endpoint.ok_or_else(Problem::not_found)?.describe(self))
    }

    pub(crate) fn endpoints(&self) -> Vec<Value> {
        let (now, lag) = (self.clock.now(), self.faults().list_lag_s);
        let all: Vec<_> = self.lock().endpoints.values().cloned().collect();
        let visible = all.iter().filter(|it| !younger(it.made, now, lag));
        let describe = |it: &Arc<Endpoint>| {
            let mut said = it.describe(self);
            if self.settings.env_null_in_lists {
                said["env"] = Value::Null;
            }
            said
        };
        visible.map(describe).collect()
    }

    pub(crate) fn update_endpoint(&self, id: &str, body: &Value) -> Result<Value, Problem> {
        refuse(mistakes(body, &UPDATE_ENDPOINT))?;
        let endpoint = self.endpoint(id).ok_or_else(Problem::not_found)?;
        let bounds = bounded(&body["workers"], endpoint.fleet.bounds());
        self.check_quota(Some(id), bounds.max)?;
        endpoint.used(self.clock.now());
        endpoint.fleet.set_bounds(bounds);
        for (key, value) in body.as_object().into_iter().flatten() {
            lock(&endpoint.said).insert(key.clone(), value.clone());
        }
        self.changed.notify_waiters();
        Ok(endpoint.describe(self))
    }

    pub(crate) fn delete_endpoint(&self, id: &str) -> Result<(), Problem> {
        let now = self.clock.now();
        let mut state = self.lock();
        let lag = state.faults.delete_lag_s;
        let endpoint = state
            .endpoints
            .get(id)
            .filter(|it| !younger(it.made, now, lag));
        let endpoint = endpoint.cloned().ok_or_else(Problem::not_found)?;
        if !take(&mut state.faults.ignored_deletes) {
            state.endpoints.remove(id);
            endpoint.life.cancel();
            state.bills.push((id.to_owned(), endpoint.spent()));
        }
        Ok(())
    }

    pub(crate) fn workers(&self, id: &str) -> Result<Value, Problem> {
        let endpoint = self.endpoint(id).ok_or_else(Problem::not_found)?;
        let (up, busy) = endpoint.fleet.count();
        let (booting, faults) = (endpoint.fleet.booting(), self.faults());
        let waiting = |when: bool| if when { booting } else { 0 };
        let fine = !faults.throttled && !faults.unhealthy;
        Ok(json!({
            "endpointVersion": 1,
            "summary": {
                "running": busy, "idle": up - busy, "initializing": waiting(fine),
                "throttled": waiting(faults.throttled), "unhealthy": waiting(faults.unhealthy),
                "total": up + booting,
            },
            "workers": [],
        }))
    }
}

fn check_scaling(body: &Value) -> Result<(), Problem> {
    let queue = body["type"] == "QUEUE";
    let by_count = body["scaling"]["type"] == "REQUEST_COUNT";
    if !queue && !by_count {
        let text = "$.scaling.type: value must be 'REQUEST_COUNT'".to_owned();
        return Err(Problem::invalid(vec![text]));
    }
    let wanted = if by_count {
        "requestCount"
    } else {
        "queueDelay"
    };
    if body["scaling"][wanted].is_null() {
        return Err(missing("$.scaling", wanted));
    }
    if queue && by_count && !body["workers"]["idleTimeout"].is_null() {
        let text = "idleTimeout does not apply to queue-based endpoints scaling on requestCount";
        return Err(Problem::new(422, text));
    }
    Ok(())
}

fn missing(path: &str, property: &str) -> Problem {
    Problem::invalid(vec![format!("{path}: missing property '{property}'")])
}

fn check_pools(gpu: &Value) -> Result<(), Problem> {
    let texts = |key: &str| -> Vec<String> {
        let list = gpu[key].as_array().into_iter().flatten();
        list.filter_map(|it| it.as_str().map(str::to_owned))
            .collect()
    };
    let pools = texts("pools");
    if let Some(odd) = pools.iter().find(|pool| !catalog::is_pool(pool)) {
        return Err(Problem::new(400, &format!("unknown GPU pool '{odd}'")));
    }
    for excluded in texts("excludedTypes") {
        let of_a_pool = catalog::gpu(&excluded).is_some_and(|it| pools.iter().any(|p| p == it.2));
        if !of_a_pool {
            return Err(Problem::new(400, "excludedTypes: not in any of the pools"));
        }
    }
    Ok(())
}

fn bounded(workers: &Value, usual: Bounds) -> Bounds {
    let number = |key: &str| workers[key].as_u64();
    Bounds {
        min: number("min").map_or(usual.min, |n| n as u32),
        max: number("max").map_or(usual.max, |n| n as u32),
        idle: number("idleTimeout").map_or(usual.idle, Duration::from_secs),
        each: usual.each,
    }
}

fn reads_back(body: &Value, created: String) -> Map<String, Value> {
    let mut said = body.as_object().cloned().unwrap_or_default();
    let usual = [
        ("args", json!("")),
        ("disk", json!(20)),
        ("env", json!({})),
        ("ports", json!([])),
        ("registry", Value::Null),
        ("dataCenterIds", json!([])),
        ("networkVolumes", json!([])),
        ("flashboot", json!("OFF")),
        // The documents say 300000; what was seen is 0.
        ("timeout", json!(0)),
        ("createdAt", json!(created)),
    ];
    for (key, value) in usual {
        said.entry(key).or_insert(value);
    }
    said
}

fn request_urls(id: &str, queue: bool) -> Value {
    if !queue {
        let base = format!("https://{id}.api.runpod.ai");
        return json!({ "base": base, "health": format!("{base}/ping") });
    }
    let base = format!("https://api.runpod.ai/v2/{id}");
    json!({ "run": format!("{base}/run"), "runSync": format!("{base}/runsync") })
}

fn lock<T>(inside: &Mutex<T>) -> MutexGuard<'_, T> {
    inside
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
