use thermocline_table::Histogram;

const BUCKETS: usize = Histogram::BOUNDS.len() + 1;
/// What remains of older requests at each reading: half after a minute.
const KEEPS: f64 = 0.977;

/// Percentiles from a histogram's growth, by linear interpolation within a bucket.
#[derive(Debug, Default)]
pub(super) struct Latency {
    seen: [u64; BUCKETS],
    grown: [f64; BUCKETS],
    /// Growth that fades with time.
    recent: [f64; BUCKETS],
}

impl Latency {
    /// Reads the counts as they are now.
    pub(super) fn read(&mut self, counts: [u64; BUCKETS]) {
        for (i, count) in counts.into_iter().enumerate() {
            self.grown[i] = count.saturating_sub(self.seen[i]) as f64;
            self.recent[i] = self.recent[i] * KEEPS + self.grown[i];
        }
        self.seen = counts;
    }

    /// The `share`-th part of what was read last, seconds.
    pub(super) fn since_last(&self, share: f64) -> Option<f64> {
        percentile(&self.grown, share, 1.0)
    }

    /// The `share`-th part of the last minute or so, seconds.
    pub(super) fn recent(&self, share: f64) -> Option<f64> {
        percentile(&self.recent, share, 0.5)
    }
}

/// `None` where fewer than `least` were counted.
fn percentile(counts: &[f64; BUCKETS], share: f64, least: f64) -> Option<f64> {
    let total: f64 = counts.iter().sum();
    if total < least {
        return None;
    }
    let mut left = total * share;
    let mut low = 0.0;
    for (count, high) in counts.iter().zip(Histogram::BOUNDS) {
        if *count > 0.0 && left <= *count {
            return Some(low + (high - low) * left / count);
        }
        left -= count;
        low = high;
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_within_their_bucket() {
        let mut latency = Latency::default();
        let mut counts = [0; BUCKETS];
        counts[6] = 90; // up to 0.1 s
        counts[9] = 10; // up to 1 s
        latency.read(counts);
        let median = latency.since_last(0.5).unwrap();
        assert!((0.05..=0.1).contains(&median), "{median}");
        let p95 = latency.since_last(0.95).unwrap();
        assert!((0.5..=1.0).contains(&p95), "{p95}");
    }

    #[test]
    fn without_requests_there_is_no_percentile_and_old_ones_fade() {
        let mut latency = Latency::default();
        assert_eq!(latency.recent(0.95), None);
        let mut counts = [0; BUCKETS];
        counts[3] = 10;
        latency.read(counts);
        assert!(latency.recent(0.95).is_some());
        for _ in 0..300 {
            latency.read(counts);
        }
        assert_eq!(
            (latency.since_last(0.95), latency.recent(0.95)),
            (None, None)
        );
    }
}
