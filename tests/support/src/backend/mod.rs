//! A model server on loopback that a test controls and observes at wire level.
//!
//! A [`Script`] chooses a [`Reply`] for each request as soon as its head is
//! there; the reply says when the body is read, when the head goes out, how the
//! body is cut into writes and how the connection ends. Everything that was
//! seen is kept as a [`Record`] with the real times, and
//! [`FakeBackend::wait_for`] waits on it without polling.

mod answer;
mod body_writer;
mod connection;
mod exchange;
mod gate;
mod head_writer;
mod latch;
mod line;
mod log;
mod record;
mod reply;
mod request;
mod script;
mod server;
mod upgrade;
mod upload;

#[cfg(test)]
mod tests;

pub use gate::Gate;
pub use latch::Latch;
pub use record::{FrameSeen, Outcome, Record, Seen, Written};
pub use reply::{Afterwards, Cut, Reading, Reply};
pub use request::Request;
pub use script::Script;
pub use server::{FakeBackend, ReservedBackend};
