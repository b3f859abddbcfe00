//! The gateway side of the shared fleet: an adapter whose instances are queues.
//!
//! To the router the fleet is a backend on loopback, one per process. A request
//! to it is parked: its payload is kept, a small job goes into the deployment's
//! queue, and the connection is held. A worker that takes the job claims it at
//! the second listener, is given the payload once, and posts the result, which
//! goes straight to the client. What is parked is bounded, and each request's
//! own task is what ends it: with an answer, at its deadline, or when its
//! client leaves.

mod access;
mod announce;
mod answer;
mod beyond;
mod body;
mod course;
mod demand;
mod deployments;
mod desk;
mod excuse;
mod headers;
mod hub;
mod intake;
mod letters;
mod losses;
mod lot;
mod parked;
mod payload;
mod provider;
mod replay;
mod room;
mod seats;
mod server;
mod settings;
mod shared;
mod sightings;

pub use access::Account;
pub use provider::{Fleet, OwnWorker};
pub use settings::Settings;
