//! Counts of values in buckets whose width grows with the value.

use serde::{Deserialize, Serialize};

/// Each power of two is cut in `2^PRECISION` buckets: at most 3 % of error.
const PRECISION: u32 = 5;
const PER_POWER: usize = 1 << PRECISION;
const BUCKETS: usize = (u64::BITS - PRECISION + 1) as usize * PER_POWER;

/// How often which value occurred, to within 3 %; written as sparse pairs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Vec<(usize, u64)>", try_from = "Vec<(usize, u64)>")]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            counts: vec![0; BUCKETS],
            total: 0,
        }
    }
}

impl Histogram {
    /// Counts one value.
    pub fn record(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.total += 1;
    }

    /// Adds everything that another one counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    /// How many values were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The value below or at which the share `q` (0 to 1) of all lies; none if empty.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = ((self.total as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        reached.map(middle)
    }
}

fn bucket(value: u64) -> usize {
    let magnitude = value.checked_ilog2().unwrap_or(0).max(PRECISION);
    let shift = magnitude - PRECISION;
    shift as usize * PER_POWER + (value >> shift) as usize
}

/// The middle of a bucket: its one value where it holds only one.
fn middle(bucket: usize) -> u64 {
    let shift = (bucket / PER_POWER).saturating_sub(1);
    let lowest = ((bucket - shift * PER_POWER) as u64) << shift;
    lowest + (1 << shift) / 2
}

impl From<Histogram> for Vec<(usize, u64)> {
    fn from(histogram: Histogram) -> Self {
        let counts = histogram.counts.into_iter().enumerate();
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

impl TryFrom<Vec<(usize, u64)>> for Histogram {
    type Error = &'static str;

    fn try_from(pairs: Vec<(usize, u64)>) -> Result<Self, Self::Error> {
        let mut histogram = Histogram::default();
        for (bucket, count) in pairs {
            *histogram.counts.get_mut(bucket).ok_or("no such bucket")? += count;
            histogram.total += count;
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_back_within_three_percent() {
        for value in [
            0,
            1,
            31,
            32,
            63,
            64,
            65,
            999,
            1_000_000,
            u64::MAX / 3,
            u64::MAX,
        ] {
            let back = middle(bucket(value));
            assert!(
                back.abs_diff(value) <= value / 32,
                "{value} came back as {back}"
            );
        }
    }

    #[test]
    fn buckets_are_contiguous() {
        for value in 0..5_000_u64 {
            assert!(
                bucket(value + 1) - bucket(value) <= 1,
                "a gap after {value}"
            );
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_ranks() {
        let mut histogram = Histogram::default();
        (1..=50).for_each(|value| histogram.record(value));
        assert_eq!(histogram.quantile(0.5), Some(25));
        assert_eq!(histogram.quantile(0.0), Some(1));
        assert_eq!(histogram.quantile(1.0), Some(50));
    }

    #[test]
    fn an_empty_one_has_no_quantile() {
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn merging_is_counting_in_one() {
        let (mut low, mut high) = (Histogram::default(), Histogram::default());
        (0..10).for_each(|value| low.record(value));
        (10..20).for_each(|value| high.record(value));
        low.merge(&high);
        assert_eq!((low.total(), low.quantile(1.0)), (20, Some(19)));
    }

    #[test]
    fn survives_the_pipe_between_processes() {
        let mut histogram = Histogram::default();
        [3, 3, 70_000]
            .into_iter()
            .for_each(|value| histogram.record(value));
        let text = serde_json::to_string(&histogram).unwrap();
        let back: Histogram = serde_json::from_str(&text).unwrap();
        assert_eq!((back.total(), back.counts), (3, histogram.counts));
        assert!(serde_json::from_str::<Histogram>("[[99999,1]]").is_err());
    }
}
