//! A provider in process that holds its own truth about what exists.
//!
//! Every instance is a [`FakeBackend`](crate::backend::FakeBackend) of its own
//! on a real port, with the script that the test chose for its request. The
//! test decides how instances boot, what fails and what the provider hides, and
//! looks at the [`Truth`] instead of at what the calls said.

mod adapter;
mod amiss;
mod boot;
mod control;
mod faults;
mod instance;
mod lifecycle;
mod offers;
mod paper;
mod state;
#[cfg(test)]
mod switch_tests;
mod switches;
#[cfg(test)]
mod tests;
mod truth;

pub use boot::Boot;
pub use control::FakeProvider;
pub use faults::Fault;
pub use offers::offer;
pub use switches::FaultKind;
pub use truth::{Call, CallSeen, Truth};
