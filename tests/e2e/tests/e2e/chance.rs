//! Moments that nobody chose, and that can be had again.

/// A sequence of numbers; `THERMOCLINE_TEST_SEED` says which.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new() -> Self {
        let seed = std::env::var("THERMOCLINE_TEST_SEED").ok();
        let seed = seed.map_or(1, |seed| seed.parse().unwrap());
        eprintln!("THERMOCLINE_TEST_SEED={seed}");
        Chance(seed)
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        // Knuth's MMIX generator; its upper bits are the good ones.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        low + (self.0 >> 33) % (high - low + 1)
    }
}
