//! Stories over the whole product, in one binary.
#![allow(clippy::unwrap_used)] // the lint knows test functions, not what they call

mod access;
mod bodies;
mod cancels;
mod chance;
mod choices;
mod commands;
mod console;
mod deadlines;
mod dedicated;
mod demo;
mod docker_tier;
mod edits;
mod events;
mod guard;
mod headers;
mod health;
mod identify;
mod idle;
mod limits;
mod local;
mod metrics;
mod processes;
mod provisioning;
mod replacements;
mod restarts;
mod runpod;
mod scene;
mod secrets;
mod starts;
mod states;
mod streaming;
mod tiers;
mod updates;
mod upgrades;
mod warm;
