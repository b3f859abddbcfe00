//! What a worker asks of the gateway that a job names.

mod frames;
mod http;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use thermocline_wire::fleet::{
    Access, Claim, Ending, Failure, Grant, Job, Model, Refusal, ResultHead,
};

use crate::Body;

pub use self::http::HttpGateways;

/// A claim that was granted.
pub struct Granted {
    /// What to run, and until when.
    pub grant: Grant,
    /// The request's body, whole and as its digest says.
    pub payload: Bytes,
    /// Ends when nobody wants the result any more, or it was taken. A gateway
    /// that is gone is [`Ending::Closing`].
    pub ending: BoxFuture<'static, Ending>,
}

/// Why a call brought nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The gateway says no.
    #[error("refused: {refusal:?}")]
    Refused {
        /// Why.
        refusal: Refusal,
        /// When to ask again, where it says so.
        retry_after: Option<Duration>,
    },
    /// Nobody is there; nothing was asked.
    #[error("the gateway cannot be reached")]
    Unreachable,
    /// It was asked, and what it made of that is not known.
    #[error("the gateway gave no answer that can be read")]
    Unclear,
}

/// A result's body on its way to the gateway.
pub enum Sent {
    /// The whole of it.
    Whole(Bytes),
    /// As it comes. Where it breaks off, the call does.
    Stream(Body),
}

/// The calls of [`thermocline_wire::fleet`], by the gateway's reply address.
/// Each is bounded in time but `result`, which lasts as long as its body;
/// dropping a call ends it.
#[async_trait]
pub trait Gateways: Send + Sync {
    /// Claims `job`.
    ///
    /// # Errors
    /// [`CallError`].
    async fn claim(&self, job: &Job, claim: &Claim) -> Result<Granted, CallError>;

    /// Brings a result; returns once it has reached the client.
    ///
    /// # Errors
    /// [`CallError`].
    async fn result(&self, job: &Job, head: &ResultHead, body: Sent) -> Result<(), CallError>;

    /// Tells of a failure.
    ///
    /// # Errors
    /// [`CallError`].
    async fn failure(&self, job: &Job, failure: &Failure) -> Result<(), CallError>;

    /// What to run for `deployment`, from the gateway at `reply_to`.
    ///
    /// # Errors
    /// [`CallError`].
    async fn model(&self, reply_to: &str, deployment: &str) -> Result<Model, CallError>;

    /// What this worker may do at the gateway at `reply_to`.
    ///
    /// # Errors
    /// [`CallError`]; [`Refusal::Auth`] where its token is not known.
    async fn access(&self, reply_to: &str) -> Result<Access, CallError>;
}
