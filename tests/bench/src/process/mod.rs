//! Processes: started in groups of their own, and measured through `/proc`.

mod cpu;
mod group;
mod memory;
mod stat;
mod tree;

pub(crate) use cpu::Cpu;
pub(crate) use group::{Group, command, find};
pub(crate) use memory::{Memory, Peak};
pub(crate) use tree::tree;
