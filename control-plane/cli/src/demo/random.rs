//! Numbers that are the same for the same seed, on every machine.

/// SplitMix64: small, fast, and good enough for traffic.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of `seed`; another `stream` of it is another sequence.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut mixed = Random(seed);
        mixed.0 = mixed.next().wrapping_add(stream);
        Random(mixed.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between 0 and 1, 1 excluded.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Exponentially distributed around `mean`.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Evenly distributed between half of `mean` and one and a half.
    pub(crate) fn around(&mut self, mean: f64) -> f64 {
        mean * (0.5 + self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_as_asked() {
        let mut random = Random::new(7, 0);
        let mean = |mut draw: Box<dyn FnMut() -> f64 + '_>| {
            (0..20_000).map(|_| draw()).sum::<f64>() / 20_000.0
        };
        let exponential = mean(Box::new(|| random.exponential(3.0)));
        assert!((exponential - 3.0).abs() < 0.1, "{exponential}");
        let around = mean(Box::new(|| random.around(3.0)));
        assert!((around - 3.0).abs() < 0.05, "{around}");
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let first = |stream| Random::new(1, stream).next();
        assert_ne!(first(0), first(1));
        assert_eq!(first(1), first(1));
    }
}
