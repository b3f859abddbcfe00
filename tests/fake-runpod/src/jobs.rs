//! Jobs of queue endpoints.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};
use thermocline_policy::Moment;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::endpoints::Endpoint;
use crate::pods::refuse;
use crate::problem::Problem;
use crate::schema::{JOB, mistakes};
use crate::service::Service;

const USUAL_EXECUTION_MS: u64 = 600_000;
const USUAL_TTL_MS: u64 = 86_400_000;

/// One job.
pub(crate) struct Job {
    pub(crate) id: String,
    /// How long its result is kept.
    kept: Duration,
    submitted: Moment,
    ttl: Duration,
    cancelled: CancellationToken,
    /// Told at every change of its state.
    moved: Notify,
    state: Mutex<State>,
}

struct State {
    status: &'static str,
    output: Value,
    error: Option<String>,
    /// Chunks that nobody has read yet.
    chunks: Vec<Value>,
    began: Option<Moment>,
    ended: Option<Moment>,
}

impl Job {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.moved.notify_waiters();
    }

    fn is_over(&self) -> bool {
        self.lock().ended.is_some()
    }

    fn end(&self, status: &'static str, now: Moment, output: Value, error: Option<&str>) {
        self.set(|state| {
            if state.ended.is_none() {
                (state.status, state.ended) = (status, Some(now));
                (state.output, state.error) = (output, error.map(str::to_owned));
            }
        });
    }

    /// Whether it is forgotten by `now`: its time to live or its result's is over.
    fn is_forgotten(&self, now: Moment) -> bool {
        match self.lock().ended {
            Some(ended) => now.since(ended) >= self.kept,
            None => now.since(self.submitted) >= self.ttl,
        }
    }

    fn describe(&self) -> Value {
        let state = self.lock();
        let mut said = json!({ "id": self.id, "status": state.status });
        let between =
            |from: Moment, to: Option<Moment>| to.map(|to| to.since(from).as_millis() as u64);
        if let Some(delay) = between(self.submitted, state.began) {
            said["delayTime"] = delay.into();
        }
        if let Some(execution) = state.began.and_then(|began| between(began, state.ended)) {
            said["executionTime"] = execution.into();
        }
        if state.status == "COMPLETED" {
            said["output"] = state.output.clone();
        }
        if let Some(error) = &state.error {
            said["error"] = error.as_str().into();
        }
        said
    }
}

impl Service {
    /// `POST /run` and `/runsync`; the job is on its way then.
    pub(crate) fn submit(
        self: &Arc<Self>,
        endpoint: &Arc<Endpoint>,
        body: &Value,
        sync: bool,
    ) -> Result<Arc<Job>, Problem> {
        let mut rest = body.clone();
        let input = rest
            .as_object_mut()
            .and_then(|fields| fields.remove("input"));
        let input = input.ok_or_else(|| Problem::new(400, "input is required"))?;
        refuse(mistakes(&rest, &JOB))?;
        let policy = |key: &str, usual| body["policy"][key].as_u64().unwrap_or(usual);
        let (now, millis) = (self.clock.now(), Duration::from_millis);
        let serial = {
            let mut state = self.lock();
            state.jobs_made += 1;
            state.jobs_made
        };
        let job = Arc::new(Job {
            id: format!("{}{serial:08}-u1", if sync { "sync-" } else { "" }),
            kept: self.settings.kept[usize::from(sync)],
            submitted: now,
            ttl: millis(policy("ttl", USUAL_TTL_MS)),
            cancelled: CancellationToken::new(),
            moved: Notify::new(),
            state: Mutex::new(State {
                status: "IN_QUEUE",
                output: Value::Null,
                error: None,
                chunks: Vec::new(),
                began: None,
                ended: None,
            }),
        });
        endpoint.used(now);
        endpoint.jobs().insert(job.id.clone(), job.clone());
        let limit = millis(policy("executionTimeout", USUAL_EXECUTION_MS));
        let (service, endpoint, running) = (self.clone(), endpoint.clone(), job.clone());
        tokio::spawn(async move { service.run(&endpoint, &running, input, limit).await });
        Ok(job)
    }

    async fn run(&self, endpoint: &Endpoint, job: &Job, input: Value, limit: Duration) {
        let work = async {
            let _place = endpoint.fleet.acquire(self).await;
            let now = self.clock.now();
            job.set(|state| (state.status, state.began) = ("IN_PROGRESS", Some(now)));
            let worked = self.clock.timeout_at(now + limit, self.work(job, input));
            match worked.await {
                Ok(Ok(output)) => job.end("COMPLETED", self.clock.now(), output, None),
                Ok(Err(error)) => job.end("FAILED", self.clock.now(), Value::Null, Some(&error)),
                Err(_) => {
                    let text = "job timed out after 1 retries";
                    job.end("TIMED_OUT", self.clock.now(), Value::Null, Some(text));
                }
            }
        };
        tokio::select! {
            () = work => {}
            () = endpoint.life.cancelled() => {}
            () = self.clock.sleep(job.ttl) => {}
            () = job.cancelled.cancelled() => {
                job.end("CANCELLED", self.clock.now(), Value::Null, None);
            }
        }
    }

    /// What the worker makes of an input: it repeats it, after `sleep_ms`, in
    /// `chunks` pieces, or fails with `fail`.
    async fn work(&self, job: &Job, input: Value) -> Result<Value, String> {
        let pause = input["sleep_ms"].as_u64().map(Duration::from_millis);
        let pause = pause.unwrap_or(self.settings.service_time);
        if let Some(text) = input["fail"].as_str() {
            self.clock.sleep(pause).await;
            return Err(text.to_owned());
        }
        let Some(chunks) = input["chunks"].as_u64() else {
            self.clock.sleep(pause).await;
            return Ok(json!({ "echo": input }));
        };
        let mut all = Vec::new();
        for n in 0..chunks {
            self.clock.sleep(pause).await;
            let chunk = json!({ "n": n, "at_us": self.clock.wall_micros() });
            all.push(chunk.clone());
            job.set(|state| state.chunks.push(json!({ "output": chunk })));
        }
        Ok(all.into())
    }

    /// A job that has not been forgotten.
    pub(crate) fn job(&self, endpoint: &Endpoint, id: &str) -> Result<Arc<Job>, Problem> {
        let now = self.clock.now();
        let mut jobs = endpoint.jobs();
        jobs.retain(|_, job| !job.is_forgotten(now));
        jobs.get(id)
            .cloned()
            .ok_or_else(|| Problem::new(404, "job not found"))
    }

    /// The job when it is over, or after `wait`.
    pub(crate) async fn await_end(&self, job: &Job, wait: Duration) -> Value {
        let over = async {
            loop {
                let moved = job.moved.notified();
                tokio::pin!(moved);
                moved.as_mut().enable();
                if job.is_over() {
                    return;
                }
                moved.await;
            }
        };
        let _in_time = self.clock.timeout_at(self.clock.now() + wait, over).await;
        job.describe()
    }

    pub(crate) fn job_status(&self, endpoint: &Endpoint, id: &str) -> Result<Value, Problem> {
        Ok(self.job(endpoint, id)?.describe())
    }

    /// The chunks that nobody has read yet.
    pub(crate) fn job_stream(&self, endpoint: &Endpoint, id: &str) -> Result<Value, Problem> {
        let job = self.job(endpoint, id)?;
        let mut state = job.lock();
        let chunks = std::mem::take(&mut state.chunks);
        Ok(json!({ "status": state.status, "stream": chunks }))
    }

    pub(crate) fn cancel_job(&self, endpoint: &Endpoint, id: &str) -> Result<Value, Problem> {
        let job = self.job(endpoint, id)?;
        job.cancelled.cancel();
        Ok(json!({ "id": id, "status": "CANCELLED" }))
    }

    /// Takes every job off the queue that no worker has taken.
    pub(crate) fn purge_queue(&self, endpoint: &Endpoint) -> Value {
        let mut removed = 0;
        for job in endpoint.jobs().values() {
            if job.lock().status == "IN_QUEUE" {
                job.cancelled.cancel();
                removed += 1;
            }
        }
        json!({ "removed": removed, "status": "completed" })
    }

    pub(crate) fn job_counts(&self, endpoint: &Endpoint) -> Value {
        let statuses: Vec<&str> = endpoint
            .jobs()
            .values()
            .map(|job| job.lock().status)
            .collect();
        let count = |status: &str| statuses.iter().filter(|it| **it == status).count();
        let (up, busy) = endpoint.fleet.count();
        let (booting, faults) = (endpoint.fleet.booting(), self.faults());
        let stuck = |stuck: bool| if stuck { booting } else { 0 };
        json!({
            "jobs": {
                "completed": count("COMPLETED"), "failed": count("FAILED"),
                "inProgress": count("IN_PROGRESS"), "inQueue": count("IN_QUEUE"), "retried": 0,
            },
            "workers": {
                "idle": up - busy, "running": busy, "initializing": booting - stuck(faults.throttled || faults.unhealthy),
                "ready": up, "throttled": stuck(faults.throttled), "unhealthy": stuck(faults.unhealthy),
            },
        })
    }
}
