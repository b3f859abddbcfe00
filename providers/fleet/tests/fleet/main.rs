//! The gateway side of the fleet, with a broker in memory and scripted workers over real HTTP.
#![allow(clippy::unwrap_used)] // the lint knows test functions, not what they call

mod beyond;
mod bounds;
mod conformance;
mod counts;
mod endings;
mod figures;
mod gateway;
mod letters;
mod refusals;
mod scene;
mod streamed;
mod streams;
mod worker;
