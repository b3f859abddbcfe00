//! The adapter against a Vast.ai that goes wrong in every way it is told to.
#![allow(clippy::unwrap_used)] // the lint knows test functions, not what they call

mod conformance;
mod create;
mod faults;
mod scene;
mod unanswered;
