//! The control plane: REST, reconciler, and what both stand on.
//!
//! It writes down what costs money before it causes it, brings every tier to
//! what [`thermocline_policy::scale`] wants, and publishes what takes work in
//! the [`thermocline_table::Table`] that the request plane reads.

mod back_off;
mod capacity;
mod config;
mod control;
mod deployment;
mod edit;
mod events;
mod health;
mod instance;
mod launch;
mod listen;
mod memory;
mod metrics;
mod pass;
mod probe;
mod provider;
mod rest;
mod status;
mod sweep;
mod token;
mod transitions;
mod wake;

pub use config::{Config, Outbound, PluginConfig, ProviderConfig, SimConfig, StartError};
pub use control::{ControlPlane, Parts};
pub use listen::serve_admin;
pub use rest::{Route, routes};
pub use token::{AdminToken, check_token};
