//! A thousand models on four workers, by the rules of `policy::fleet`, beside
//! blind routing and beside the best that knows the popularity.
#![allow(clippy::unwrap_used)] // the helpers too are tests

mod catalog;
mod figures;
mod greedy;
mod look;
mod memory;
mod queues;
mod scenarios;
mod traffic;
mod world;
