use std::time::Duration;

use hdrhistogram::Histogram;

/// Durations of which the quantiles are asked, to three digits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Quantiles {
    zeros: u64,
    /// Made with the first that is not zero.
    above: Option<Histogram<u64>>,
}

/// The longest that is told apart, ms.
const LONGEST: u64 = 1 << 40;

impl Quantiles {
    pub(crate) fn add(&mut self, duration: Duration) {
        match u64::try_from(duration.as_millis()).unwrap_or(LONGEST) {
            0 => self.zeros += 1,
            millis => {
                if let Some(above) = self.above() {
                    // It grows to whatever it is told.
                    let _ = above.record(millis.min(LONGEST));
                }
            }
        }
    }

    /// Three digits are always allowed, so there always is one.
    fn above(&mut self) -> Option<&mut Histogram<u64>> {
        if self.above.is_none() {
            self.above = Histogram::new(3).ok();
        }
        self.above.as_mut()
    }

    pub(crate) fn merge(&mut self, other: &Quantiles) {
        self.zeros += other.zeros;
        if let (Some(theirs), Some(ours)) = (&other.above, self.above()) {
            // It grows to whatever bounds the other has.
            let _ = ours.add(theirs);
        }
    }

    /// The same as [`Quantiles::at`]; `None` where nothing was added.
    pub(crate) fn known_at(&self, share: f64) -> Option<Duration> {
        let some = self.zeros > 0 || self.above.is_some();
        some.then(|| Duration::from_secs_f64(self.at(share)))
    }

    /// The least duration that `share` of all do not exceed, seconds.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let Some(above) = &self.above else {
            return 0.0;
        };
        let rank = (share * (self.zeros + above.len()) as f64).ceil();
        let beyond = rank - self.zeros as f64;
        if beyond <= 0.0 {
            return 0.0;
        }
        let value = above.value_at_quantile((beyond / above.len() as f64).min(1.0));
        above.lowest_equivalent(value) as f64 / 1e3
    }
}

/// What one policy caused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// Dollars paid to providers.
    pub(crate) usd: f64,
    /// Users' waiting, seconds.
    pub(crate) waited_s: f64,
    pub(crate) cold_starts: u64,
    pub(crate) transitions: u64,
    /// Pods paid for, seconds.
    pub(crate) pod_s: f64,
    /// Pods ready, seconds.
    pub(crate) useful_s: f64,
    /// Pods booting, seconds.
    pub(crate) boot_s: f64,
    pub(crate) waits: Quantiles,
    /// From arrival to the last byte.
    pub(crate) responses: Quantiles,
}

impl Tally {
    pub(crate) fn merge(&mut self, other: &Tally) {
        self.usd += other.usd;
        self.waited_s += other.waited_s;
        self.cold_starts += other.cold_starts;
        self.transitions += other.transitions;
        self.pod_s += other.pod_s;
        self.useful_s += other.useful_s;
        self.boot_s += other.boot_s;
        self.waits.merge(&other.waits);
        self.responses.merge(&other.responses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_ranks() {
        let mut waits = Quantiles::default();
        assert_eq!(waits.at(0.5), 0.0);
        for _ in 0..94 {
            waits.add(Duration::ZERO);
        }
        for _ in 0..6 {
            waits.add(Duration::from_secs(30));
        }
        assert_eq!((waits.at(0.5), waits.at(0.94)), (0.0, 0.0));
        assert_eq!((waits.at(0.95), waits.at(1.0)), (30.0, 30.0));
        let mut both = waits.clone();
        both.merge(&waits);
        assert_eq!((both.at(0.94), both.at(0.95)), (0.0, 30.0));
    }
}
