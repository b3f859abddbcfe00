//! The control plane: REST, reconciler, and what both stand on.
//!
//! It writes down what costs money before it causes it, brings every tier to
//! what [`thermocline_policy::scale`] wants, and publishes what takes work in
//! the [`thermocline_table::Table`] that the request plane reads.

mod back_off;
mod books;
mod budget;
mod capacity;
mod cold_starts;
mod config;
mod console;
mod control;
mod costs;
mod dead_letters;
mod deployment;
mod edit;
mod events;
mod fleet;
mod gauges;
mod health;
mod instance;
mod launch;
mod listen;
mod local;
mod metrics;
mod names;
mod out_of_reach;
mod pass;
mod prices;
mod probe;
mod provider;
mod rest;
mod secrets;
mod series;
mod session;
mod silence;
mod simulation;
mod status;
mod sweep;
mod tail;
mod token;
mod transitions;
mod wake;

pub use config::{
    BrokerConfig, BudgetConfig, Config, FleetConfig, FleetWorker, Outbound, StartError, TokenSource,
};
pub use control::{ControlPlane, Parts};
pub use dead_letters::DeadLetterSettings;
pub use fleet::{FleetParts, PoolSettings};
pub use listen::serve_admin;
pub use probe::{HttpProbe, Probe};
pub use rest::{Route, router, routes};
pub use secrets::{KeyOrigin, Redaction, SecretError, SecretKey, Secrets};
pub use token::{AdminToken, check_token};
