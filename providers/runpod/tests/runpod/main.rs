//! The adapter against a RunPod that goes wrong in every way it is told to.
#![allow(clippy::unwrap_used)] // the lint knows test functions, not what they call

mod conformance;
mod create;
mod faults;
mod jobs;
mod scene;
mod unanswered;
