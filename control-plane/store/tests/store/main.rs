//! What the rest of the system relies on the store for.
#![allow(clippy::unwrap_used)] // the helpers too are tests
mod b27_busy;
mod backup;
mod dead_letters;
mod decisions;
mod deployments;
mod events;
mod installation;
mod instances;
mod ledger;
mod open;
mod secrets;
mod sessions;
mod support;
