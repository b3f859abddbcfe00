//! The JSON shapes that cross a process boundary, and how they are read.

pub mod provider;
