//! What gateways and workers of the shared fleet say to each other: the job in
//! the queue, the announcements, and the bodies of the calls by which a worker
//! fetches a payload and brings a result.
//!
//! | call, with the worker's token | answer |
//! |---|---|
//! | `POST /v1/jobs/{id}/claim`, a [`Claim`] | a [`frame`] with the [`Grant`], then the payload; the response then stays open until a frame with an [`Ending`] |
//! | `POST /v1/jobs/{id}/result`, a [`frame`] with the [`ResultHead`], then the body | 204 when it has reached the client |
//! | `POST /v1/jobs/{id}/failure`, a [`Failure`] | 204 |
//! | `GET /v1/models/{deployment}` | the [`Model`] |
//! | `GET /v1/access` | the [`Access`] of its token |
//!
//! Refusals are problem+json whose `code` is a [`Refusal`]. Times travel as
//! what remains, since clocks differ.

mod access;
mod announce;
mod credentials;
mod job;
mod model;
mod nouns;

use serde::Serialize;

pub use access::{Access, allows};
pub use announce::{Demand, QueueDemand, Report, Resident, WorkerState};
pub use credentials::{Credentials, credential_in_query, is_credential};
pub use job::{
    Claim, Class, Ending, Failure, FailureKind, Grant, Job, LoadSpan, Obituary, Refusal, ResultHead,
};
pub use model::{Model, Shape, Terms};

/// The header that names the deployment to the gateway side of the fleet.
pub const DEPLOYMENT_HEADER: &str = "x-thermocline-fleet-deployment";

/// The most bytes of a [`frame`]'s JSON.
pub const MOST_FRAME: usize = 1 << 20;

/// `message` as a frame: its length as four bytes, the highest first, then JSON.
///
/// # Errors
/// What serde says; no type of this module fails.
pub fn frame(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
    frame[..4].copy_from_slice(&length.to_be_bytes());
    Ok(frame)
}
