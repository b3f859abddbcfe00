//! What nobody chose, and what can be had again.

/// A sequence of numbers that follows from its seed.
#[derive(Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn of(seed: u64) -> Self {
        let mut chance = Chance(seed ^ 0x9e37_79b9_7f4a_7c15);
        chance.below(2); // neighbouring seeds part at once
        chance
    }

    /// From 0 to `limit`, `limit` excluded.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        // Knuth's MMIX generator; its upper bits are the good ones.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    pub(crate) fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }

    pub(crate) fn seed(&mut self) -> u64 {
        self.below(u64::from(u32::MAX))
    }
}

/// The seed that `THERMOCLINE_TEST_SEED` names.
pub(crate) fn given_seed() -> Option<u64> {
    let seed = std::env::var("THERMOCLINE_TEST_SEED").ok()?;
    Some(seed.parse().unwrap())
}
