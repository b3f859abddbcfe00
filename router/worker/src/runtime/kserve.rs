//! Models of a server that speaks the Open Inference Protocol, version 2, with
//! the model repository extension: Triton and others.

mod target;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde_json::Value;
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use thermocline_provider::Address;
use thermocline_wire::fleet::Model;

use super::forward::Forward;
use super::{RunError, RunRequest, RunResponse, Runtime};
use crate::LoadError;

/// How long a call that loads nothing may take.
const CALL_LIMIT: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The longest answer about the repository that is read, bytes.
const LONGEST: usize = 16 << 20;
/// Marks of a load that failed for want of memory, in the server's words.
const WANT_OF_MEMORY: [&str; 3] = ["out of memory", "oom", "failed to allocate"];

/// A runtime over a server's model repository. A deployment's image is the
/// model's name there; this worker is the only one that loads and unloads.
pub struct KserveRuntime {
    server: Address,
    clock: Clock,
    forward: Forward,
    /// Model by deployment.
    held: Mutex<BTreeMap<String, String>>,
}

impl KserveRuntime {
    /// The server at `url`, `http://` with host and port; nothing is asked yet.
    pub fn new(url: impl Into<String>, clock: Clock) -> Self {
        let url = url.into();
        KserveRuntime {
            server: Address {
                url,
                ..Address::default()
            },
            forward: Forward::new(clock.clone()),
            clock,
            held: Mutex::default(),
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn model_of(&self, deployment: &str) -> Option<String> {
        self.held().get(deployment).cloned()
    }

    /// Whether more than one deployment is of `model`.
    fn is_shared(&self, model: &str) -> bool {
        self.held().values().filter(|held| *held == model).count() > 1
    }

    /// One call to the repository, answered by `deadline`: status and JSON.
    async fn ask(
        &self,
        path: &str,
        body: &'static str,
        deadline: Moment,
    ) -> Result<(StatusCode, Value), LoadError> {
        let request = RunRequest {
            method: Method::POST,
            target: path.parse().map_err(|_| unusable())?,
            headers: [(CONTENT_TYPE, HeaderValue::from_static("application/json"))]
                .into_iter()
                .collect(),
            payload: Bytes::from_static(body.as_bytes()),
        };
        let asked = async {
            let response = self.forward.send(&self.server, request).await;
            let response = response.map_err(|_| silent())?;
            let text = whole(response.body).await.ok_or_else(silent)?;
            Ok((
                response.status,
                serde_json::from_slice(&text).unwrap_or_default(),
            ))
        };
        let answered = self.clock.timeout_at(deadline, asked).await;
        answered.unwrap_or_else(|_| Err(LoadError::OutOfCapacity("it took too long".into())))
    }

    async fn unload_model(&self, model: &str) -> Result<(), LoadError> {
        let path = format!("/v2/repository/models/{model}/unload");
        let deadline = self.clock.now() + CALL_LIMIT;
        let (status, said) = self.ask(&path, "{}", deadline).await?;
        match status.is_success() || status == StatusCode::NOT_FOUND {
            true => self.until_unloaded(model, deadline).await,
            false => Err(refused(status, &said)),
        }
    }

    /// An unload is answered before it is done.
    async fn until_unloaded(&self, model: &str, deadline: Moment) -> Result<(), LoadError> {
        // A server that is silent may still hold it.
        while self.readiness(model).await.is_none_or(is_ready) {
            if self.clock.now() >= deadline {
                return Err(LoadError::OutOfCapacity("the model does not go".into()));
            }
            self.clock.sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// What the server says of `model`; `None` when it is silent.
    async fn readiness(&self, model: &str) -> Option<u16> {
        self.status(&format!("/v2/models/{model}/ready")).await
    }

    async fn status(&self, path: &str) -> Option<u16> {
        self.forward.status(&self.server, path).await.ok()
    }
}

#[async_trait]
impl Runtime for KserveRuntime {
    async fn clear(&self) -> Result<(), LoadError> {
        let deadline = self.clock.now() + CALL_LIMIT;
        let (status, said) = self
            .ask("/v2/repository/index", r#"{"ready":true}"#, deadline)
            .await?;
        if !status.is_success() {
            return Err(refused(status, &said));
        }
        let kept: Vec<String> = self.held().values().cloned().collect();
        for model in ready_models(&said) {
            if is_name(model) && !kept.iter().any(|kept| kept == model) {
                self.unload_model(model).await?;
            }
        }
        Ok(())
    }

    async fn alive(&self) -> bool {
        // A server with a model that loads may say that it is not ready.
        self.status("/v2/health/live").await == Some(200)
    }

    async fn load(&self, model: &Model, _: &[String]) -> Result<(), LoadError> {
        let name = model.image.clone();
        if !is_name(&name) {
            return Err(unusable());
        }
        if self
            .model_of(&model.deployment)
            .is_some_and(|held| held != name)
        {
            self.unload(&model.deployment).await?;
        }
        self.held().insert(model.deployment.clone(), name.clone());
        let deadline = self.clock.now() + Duration::from_millis(model.start_timeout_ms);
        let path = format!("/v2/repository/models/{name}/load");
        let (status, said) = self.ask(&path, "{}", deadline).await?;
        if !status.is_success() {
            self.held().remove(&model.deployment);
            return Err(refused(status, &said));
        }
        while !self.readiness(&name).await.is_some_and(is_ready) {
            if self.clock.now() >= deadline {
                let late = "it was not ready in time";
                return Err(LoadError::OutOfCapacity(late.into()));
            }
            self.clock.sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    async fn unload(&self, deployment: &str) -> Result<(), LoadError> {
        let Some(model) = self.model_of(deployment) else {
            return Ok(());
        };
        if !self.is_shared(&model) {
            self.unload_model(&model).await?;
        }
        self.held().remove(deployment);
        Ok(())
    }

    async fn run(
        &self,
        deployment: &str,
        mut request: RunRequest,
    ) -> Result<RunResponse, RunError> {
        let model = self.model_of(deployment).ok_or(RunError::NotLoaded)?;
        let Some(target) = target::at_server(&request.target, deployment, &model) else {
            return Ok(not_found());
        };
        request.target = target;
        match self.forward.send(&self.server, request).await {
            Ok(response) => Ok(response),
            Err(_) if self.alive().await => Err(RunError::BrokeOff),
            Err(_) => Err(RunError::Died),
        }
    }

    async fn holds(&self, deployment: &str) -> bool {
        let Some(model) = self.model_of(deployment) else {
            return false;
        };
        // A server that is silent says nothing about its models.
        self.readiness(&model).await.is_none_or(is_ready)
    }
}

const fn is_ready(status: u16) -> bool {
    status == 200
}

fn ready_models(index: &Value) -> impl Iterator<Item = &str> {
    let models = index.as_array().into_iter().flatten();
    models
        .filter(|model| model["state"] == "READY")
        .filter_map(|model| model["name"].as_str())
}

/// Whether `name` is one segment of a path.
fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=200).contains(&name.len()) && name.chars().all(allowed) && !name.starts_with('.')
}

fn refused(status: StatusCode, said: &Value) -> LoadError {
    let words: String = said["error"]
        .as_str()
        .unwrap_or_default()
        .chars()
        .take(300)
        .collect();
    let lower = words.to_lowercase();
    let detail = format!("the server answered {}: {words}", status.as_u16());
    let memory = WANT_OF_MEMORY.iter().any(|mark| lower.contains(mark));
    match status.is_client_error() && !memory && status != StatusCode::TOO_MANY_REQUESTS {
        true => LoadError::Incompatible(detail),
        false => LoadError::OutOfCapacity(detail),
    }
}

fn silent() -> LoadError {
    LoadError::OutOfCapacity("the server does not answer".into())
}

fn unusable() -> LoadError {
    let detail = "image: a model's name here is of letters, digits, `-`, `_` and `.`";
    LoadError::Incompatible(detail.into())
}

fn not_found() -> RunResponse {
    RunResponse {
        status: StatusCode::NOT_FOUND,
        headers: HeaderMap::new(),
        body: Box::pin(futures_util::stream::empty()),
    }
}

async fn whole(mut body: super::Body) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    while let Some(piece) = body.next().await {
        text.extend_from_slice(&piece.ok()?);
        (text.len() <= LONGEST).then_some(())?;
    }
    Some(text)
}
