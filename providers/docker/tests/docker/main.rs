//! The adapter against a real Docker daemon.
//!
//! These run with `THERMOCLINE_TEST_DOCKER=1`, after `tests/scripts/dockerd.sh`
//! has made sure of a daemon and the test image; else each says that it was
//! skipped. Every test works under an owner of its own and leaves nothing.

#![allow(clippy::unwrap_used)] // the lint knows test functions, not what they call

mod away;
mod confinement;
mod conformance;
mod create;
mod delete;
mod ports;
mod pulls;
mod strangers;
mod support;
