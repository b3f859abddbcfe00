//! The agent of a GPU node: it finds the queues that have work, takes jobs of
//! the models that it holds or can load, runs them, brings the results to the
//! gateways that wait, and acknowledges last.
//!
//! A [`Worker`] decides for itself which queues to serve, by the pure functions
//! of [`thermocline_policy::fleet`] and by what gateways and other workers
//! announce. What executes models is a [`Runtime`], a process of its own.

mod agent;
mod coding;
mod demand;
mod event;
mod gateway;
mod job;
mod limit;
mod memory;
mod peers;
mod residents;
mod runtime;
mod settings;
mod trouble;
mod worker;

pub use gateway::{CallError, Gateways, Granted, HttpGateways, Sent};
pub use memory::{ConfiguredMemory, Memory, ProbedMemory};
pub use runtime::{
    Body, InstanceRuntime, KserveRuntime, LoadError, RunError, RunRequest, RunResponse, Runtime,
};
pub use settings::Settings;
pub use worker::{Parts, Worker};
