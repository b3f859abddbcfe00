//! What users of a fleet notice of its workers, on a clock that stands still
//! until the test moves it.
#![allow(clippy::unwrap_used)] // the lint knows test functions, not what they call

mod access;
mod adopts;
mod cache;
mod ends;
mod failures;
mod gateway;
mod http;
mod runtime;
mod sharing;
mod stage;
