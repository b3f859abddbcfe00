//! The client verbs, run as a user runs them, against a server that replays the contract.

#![allow(clippy::unwrap_used)] // a test may panic

mod connection;
mod cost;
mod deploy;
mod doctor;
mod events;
mod explain;
mod force;
mod inspect;
mod lifecycle;
mod secret;
mod simulate;
mod stub;
