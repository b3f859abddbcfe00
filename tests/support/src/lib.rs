//! What the end-to-end tests stand on: doubles with real loopback sockets.
//!
//! [`backend`] is the model server that a test controls and observes byte by
//! byte, [`client`] is the caller, [`provider`] makes backends exist when it is
//! asked for instances, [`fleet`] is a shared fleet without workers, [`gpus`] are
//! GPUs as a test says that they are, [`kserve`] a model server with a repository,
//! [`system`] is the whole product in the test's process,
//! [`process`](mod@process) is its binary as users run it.

pub mod backend;
pub mod client;
pub mod fleet;
pub mod gpus;
pub mod http1;
pub mod kserve;
pub mod process;
pub mod provider;
pub mod system;
mod watched;
