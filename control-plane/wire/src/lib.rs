//! The JSON shapes that cross a process boundary, and how they are read.

mod base_url;
pub mod fleet;
mod hidden;
mod nearest;
pub mod provider;
pub mod reader;
mod spec;
mod time;
mod yaml;

pub use base_url::base_url;
pub use hidden::{LEAST_HIDDEN, hide};
pub use nearest::{near, nearest};
pub use spec::{
    forced_from_json, forced_to_json, read_spec, spec_from_json, spec_to_json, window_field,
};
pub use time::{micros, rfc3339};
pub use yaml::{documents, to_yaml};
