//! Nothing that costs money is lost, made twice, or somebody else's: the real
//! reconciler, sweeps and store on virtual time, against a provider that does
//! everything wrong that providers are known for.
#![allow(clippy::unwrap_used)] // the lint knows test functions, not what they call

mod audit;
mod chance;
mod enumeration;
mod figures;
mod fuse;
mod idle;
mod rules;
mod schedule;
mod world;
