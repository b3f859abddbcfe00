//! A model server that speaks version 2 of the Open Inference Protocol with its
//! model repository extension, as Triton does when it is told to load nothing
//! by itself: what the protocol does not have gets 404 or 405.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::backend::{FakeBackend, Reply, Request, Script, Seen};

/// The server; it ends when this value is dropped.
#[derive(Debug)]
pub struct FakeKserve {
    backend: FakeBackend,
    repository: Repository,
}

/// Whether each model is loaded.
#[derive(Debug, Clone, Default)]
struct Repository(Arc<Mutex<BTreeMap<String, bool>>>);

impl FakeKserve {
    /// A server whose repository has `models`, none of them loaded; what is
    /// asked of one that is loaded is answered as `models_answer` says.
    pub async fn start(models: &[&str], models_answer: impl Into<Script>) -> Self {
        let repository = Repository::default();
        repository
            .models()
            .extend(models.iter().map(|name| ((*name).to_owned(), false)));
        let (there, models_answer) = (repository.clone(), models_answer.into());
        let script = Script::from_fn(move |request| there.reply(request, &models_answer));
        FakeKserve {
            backend: FakeBackend::start(script).await,
            repository,
        }
    }

    /// `http://` with host and port.
    pub fn url(&self) -> String {
        self.backend.url()
    }

    /// The models that are loaded.
    pub fn loaded(&self) -> Vec<String> {
        let models = self.repository.models();
        let loaded = models.iter().filter(|(_, loaded)| **loaded);
        loaded.map(|(name, _)| name.clone()).collect()
    }

    /// Waits until `wanted` holds of what was seen; see [`FakeBackend::wait_for`].
    pub async fn wait_for(&self, wanted: impl Fn(&Seen) -> bool) -> Seen {
        self.backend.wait_for(wanted).await
    }
}

impl Repository {
    fn models(&self) -> MutexGuard<'_, BTreeMap<String, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reply(&self, request: &Request, models_answer: &Script) -> Reply {
        let path: Vec<&str> = request.path().trim_matches('/').split('/').collect();
        match (request.method(), &path[..]) {
            ("GET", ["v2", "health", "live" | "ready"]) => Reply::new(200),
            ("POST", ["v2", "repository", "index"]) => self.index(),
            ("POST", ["v2", "repository", "models", model, "load"]) => self.set(model, true),
            ("POST", ["v2", "repository", "models", model, "unload"]) => self.set(model, false),
            ("GET", ["v2", "models", model, "ready"]) => self.readiness(model),
            (_, ["v2", "models", model, ..]) if self.is_loaded(model) => {
                models_answer.reply(request)
            }
            (_, ["v2", "models", model, ..]) => not_ready(model),
            (_, ["v2", "health" | "repository", ..]) => Reply::new(405),
            _ => Reply::new(404),
        }
    }

    fn is_loaded(&self, model: &str) -> bool {
        self.models().get(model) == Some(&true)
    }

    fn index(&self) -> Reply {
        let models = self.models();
        let entry = |(name, loaded): (&String, &bool)| match loaded {
            true => json!({ "name": name, "version": "1", "state": "READY", "reason": "" }),
            false => json!({ "name": name, "state": "UNAVAILABLE", "reason": "unloaded" }),
        };
        json_reply(200, &models.iter().map(entry).collect())
    }

    fn set(&self, model: &str, loaded: bool) -> Reply {
        match self.models().get_mut(model) {
            Some(known) => {
                *known = loaded;
                Reply::new(200)
            }
            None => error(&format!(
                "failed to load '{model}', failed to poll from model repository"
            )),
        }
    }

    fn readiness(&self, model: &str) -> Reply {
        Reply::new(if self.is_loaded(model) { 200 } else { 400 })
    }
}

fn not_ready(model: &str) -> Reply {
    error(&format!(
        "Request for unknown model: '{model}' is not found"
    ))
}

fn error(text: &str) -> Reply {
    json_reply(400, &json!({ "error": text }))
}

fn json_reply(status: u16, body: &Value) -> Reply {
    let reply = Reply::new(status).header("content-type", "application/json");
    reply.body(body.to_string())
}
