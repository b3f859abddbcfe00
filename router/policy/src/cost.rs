//! What a rate of requests costs on each of the two tiers that are paid for,
//! and where they cost the same.

mod break_even;
mod model;

pub use break_even::BreakEven;
pub use model::{CostModel, Mean, Prices, Work};
