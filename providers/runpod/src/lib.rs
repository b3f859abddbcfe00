//! The adapter for RunPod: pods, and serverless endpoints of both types, over
//! REST v2.
//!
//! RunPod has no idempotency keys, so each instance carries marks: its name is
//! `tc-OWNER-KEY`, and its environment holds owner, key and deployment. Before
//! anything is made, the account is searched for them. An id is `pod:` or
//! `endpoint:` and RunPod's own.
//!
//! What RunPod answers is hostile input: it is bounded in size and in time, ids
//! are checked before they get into a URL, and the key goes to the configured
//! hosts alone.

mod account;
mod address;
mod call;
mod catalog;
mod choice;
mod create;
mod drift;
mod endpoint;
mod error;
mod id;
mod jobs;
mod lacking;
mod limits;
mod pod;
mod provider;
mod said;
mod search;
mod settings;

pub use account::Account;
pub use provider::RunpodProvider;
pub use settings::{Cloud, EndpointType, Settings};
