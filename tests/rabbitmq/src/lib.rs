//! A RabbitMQ for tests: a server of its own in a temporary directory, and a
//! network before it that a test can cut and stall.
//!
//! These processes and sockets are outside whatever virtual time a test has.
#![allow(clippy::disallowed_methods)]

mod ports;
mod process;
mod proxy;
mod server;

pub use proxy::Proxy;
pub use server::Server;
