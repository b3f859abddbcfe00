//! The adapter for Vast.ai: instances, rented from a market of offers.
//!
//! An offer is one slice of somebody's machine; it vanishes when somebody takes
//! it, and then the next one is asked for. Vast.ai has no idempotency keys, so
//! each instance carries marks: its label is `tc-OWNER-KEY`, and its environment
//! holds owner, key and deployment. Before anything is made, the account is
//! searched for them. An id is Vast.ai's own number.
//!
//! What Vast.ai answers is hostile input: it is bounded in size and in time, and
//! an error that names an instance has made one.

mod account;
mod ask;
mod call;
mod census;
mod create;
mod error;
mod gpus;
mod instance;
mod pace;
mod provider;
mod rent;
mod said;
mod settings;

pub use account::Account;
pub use provider::VastProvider;
pub use settings::{Settings, Spacing};
