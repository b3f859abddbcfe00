//! What executes models on this node.

mod forward;
mod instances;
mod kserve;

use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderMap, Method, StatusCode, Uri};
use thermocline_wire::fleet::{FailureKind, Model};

pub(crate) use forward::end_to_end;
pub use instances::InstanceRuntime;
pub use kserve::KserveRuntime;

/// A response's body, as it comes.
pub type Body = Pin<Box<dyn Stream<Item = std::io::Result<Bytes>> + Send>>;

/// A request for a model, as its client made it.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub target: Uri,
    /// End-to-end headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub payload: Bytes,
}

/// What a model answers.
pub struct RunResponse {
    /// The status.
    pub status: StatusCode,
    /// End-to-end headers.
    pub headers: HeaderMap,
    /// The body; its place at the model is taken until it ends or is dropped.
    pub body: Body,
}

/// Why a model could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Not now: no memory, no device, nobody who answers, or too slow.
    #[error("{0}")]
    OutOfCapacity(String),
    /// Never, as it is: its image or artefact is wrong.
    #[error("{0}")]
    Incompatible(String),
}

impl LoadError {
    /// The failure of a job that waited for it.
    pub const fn kind(&self) -> FailureKind {
        match self {
            LoadError::OutOfCapacity(_) => FailureKind::OutOfCapacity,
            LoadError::Incompatible(_) => FailureKind::Incompatible,
        }
    }
}

/// Why a request got no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The process that ran it is gone.
    #[error("the model's process died")]
    Died,
    /// It broke off, or answered nothing that is HTTP.
    #[error("the model broke off")]
    BrokeOff,
    /// The model is not held here (any more); nothing was run.
    #[error("the model is not loaded")]
    NotLoaded,
}

/// Loads, unloads and runs models: a process of its own, which may die while
/// its worker lives.
///
/// Every call is bounded in time by its implementation, but for `run`, which its
/// caller drops. A load that fails or is dropped must leave nothing behind that
/// the next [`Runtime::unload`] does not clear.
#[async_trait]
pub trait Runtime: Send + Sync {
    /// Looks for what an earlier life of this worker has left running; whether there is
    /// any that can be told to be of a generation, and so be adopted.
    ///
    /// # Errors
    /// [`LoadError`] when the runtime cannot be asked; try again.
    async fn find_left(&self) -> Result<bool, LoadError> {
        Ok(false)
    }

    /// Keeps what was found of this generation of `deployment` on the GPUs with these
    /// UUIDs: the next [`Runtime::load`] of it goes on with that. Whether there is any.
    fn adopt(&self, _deployment: &str, _generation: &str, _gpus: &[String]) -> bool {
        false
    }

    /// Clears what an earlier life of this worker has left running, but for what is adopted.
    ///
    /// # Errors
    /// [`LoadError`] when the runtime cannot be asked; try again.
    async fn clear(&self) -> Result<(), LoadError>;

    /// Whether the runtime lives and answers. Loads that take long are no reason to say no.
    async fn alive(&self) -> bool;

    /// Makes `model` ready to run, on the GPUs with these UUIDs where any are
    /// named. One load of a deployment runs at a time.
    ///
    /// # Errors
    /// [`LoadError`]; what is left of it then, [`Runtime::unload`] clears.
    async fn load(&self, model: &Model, gpus: &[String]) -> Result<(), LoadError>;

    /// Frees what `deployment` holds; fine when it holds nothing.
    ///
    /// # Errors
    /// [`LoadError`] when that is not certain; try again.
    async fn unload(&self, deployment: &str) -> Result<(), LoadError>;

    /// Runs one request on the model of `deployment`, up to the response's head.
    /// Dropping the call or the body aborts it.
    ///
    /// # Errors
    /// [`RunError`].
    async fn run(&self, deployment: &str, request: RunRequest) -> Result<RunResponse, RunError>;

    /// Whether the model of `deployment` is still there: false once it is known
    /// that its process has died.
    async fn holds(&self, deployment: &str) -> bool;
}
