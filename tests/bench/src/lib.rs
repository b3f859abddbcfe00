//! Measures Thermocline against nginx, HAProxy and no proxy at all.
//!
//! Absolute rates on a shared machine drift up to twofold within minutes, so
//! what counts here is *paired*: every round gives each target one short slot
//! of load, one after the other, against the same backend, and a target's
//! figure is divided by the baseline's of the same round. The spread of those
//! ratios (least, median, most) is the result.
//!
//! The backend ([`origin`]) and the client ([`load`]) are this binary again, as
//! processes of their own, so that the CPU time and memory read from `/proc`
//! belong to the proxy alone. The load is closed-loop: a connection sends its
//! next request when it has the answer to the last, so latencies are those of a
//! saturated proxy and not of a fixed arrival rate.

pub mod cli;
mod error;
mod histogram;
mod kind;
pub mod load;
mod memory;
pub mod origin;
mod process;
mod ratio;
mod run;
mod scenario;
mod table;
mod target;
mod time;

pub use error::BenchError;
pub use histogram::Histogram;
pub use kind::Kind;
