//! Random numbers that are the same for the same seed, on every machine.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub struct Chance(Pcg64);

impl Chance {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Chance(Pcg64::seed_from_u64(seed))
    }

    /// Evenly between 0 and 1, 1 excluded.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Exponentially distributed around `mean`.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}
