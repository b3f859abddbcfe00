//! A worker of the shared fleet.

mod node;

pub(crate) use node::{Node, start};
