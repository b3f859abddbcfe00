//! The broker over a real RabbitMQ, with restarts and a network that fails.
//! Skipped where RabbitMQ is not installed.
#![allow(clippy::disallowed_methods)] // real servers keep real time

mod conformance;
mod crowds;
mod network;
mod restarts;
mod scene;
