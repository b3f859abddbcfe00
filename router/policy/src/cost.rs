//! What a rate of requests costs on each of the two tiers that are paid for,
//! and where they cost the same.

mod blocking;
mod break_even;
mod model;
mod poisson;
mod work;

pub use break_even::BreakEven;
pub use model::{CostModel, Prices};
pub use work::{Mean, Work};
