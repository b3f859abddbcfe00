use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use hdrhistogram::Histogram;

/// Durations from 1 ms on, of which mean and quantiles are asked, to two digits.
///
/// Of many, the newer ones count more: past [`Sketch::MOST`] all counts are
/// halved. Whoever finds it in use leaves a duration out, so nobody waits.
#[derive(Debug, Default)]
pub struct Sketch(Mutex<Option<Histogram<u32>>>);

/// What a sketch says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measured {
    /// How many durations it rests on.
    pub count: u64,
    /// Their mean.
    pub mean: Duration,
    /// Half of them are no longer.
    pub p50: Duration,
    /// 95 of 100 are no longer.
    pub p95: Duration,
}

impl Sketch {
    /// How many durations count at most.
    pub const MOST: u64 = 8192;
    /// The longest that is told apart.
    const LONGEST: u64 = 86_400_000;

    /// Takes a duration in.
    pub fn record(&self, duration: Duration) {
        if let Ok(mut kept) = self.0.try_lock() {
            add(&mut kept, millis(duration), 1);
        }
    }

    /// What it says now.
    pub fn measured(&self) -> Measured {
        let kept = self.kept();
        let Some(histogram) = kept.as_ref().filter(|h| !h.is_empty()) else {
            return Measured::default();
        };
        let at = |share| Duration::from_millis(histogram.value_at_quantile(share));
        Measured {
            count: histogram.len(),
            mean: Duration::from_secs_f64(histogram.mean() / 1e3),
            p50: at(0.5),
            p95: at(0.95),
        }
    }

    /// Every duration that it tells apart, in ms, and how many there were.
    pub fn counts(&self) -> Vec<(u64, u32)> {
        let kept = self.kept();
        let steps = kept.iter().flat_map(Histogram::iter_recorded);
        steps
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect()
    }

    /// Takes in what [`Sketch::counts`] said before.
    pub fn restore(&self, counts: &[(u64, u32)]) {
        let mut kept = self.kept();
        for (millis, count) in counts {
            add(&mut kept, (*millis).min(Self::LONGEST), *count);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Option<Histogram<u32>>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

fn millis(duration: Duration) -> u64 {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(Sketch::LONGEST);
    millis.min(Sketch::LONGEST)
}

fn add(kept: &mut Option<Histogram<u32>>, millis: u64, count: u32) {
    if kept.as_ref().is_some_and(|h| h.len() >= Sketch::MOST) {
        *kept = kept.take().and_then(|full| halved(&full));
    }
    if kept.is_none() {
        // Two digits are always allowed.
        *kept = Histogram::new(2).ok();
    }
    if let Some(histogram) = kept {
        // It grows to whatever it is told.
        let _ = histogram.record_n(millis, count);
    }
}

fn halved(full: &Histogram<u32>) -> Option<Histogram<u32>> {
    let mut half = Histogram::new(2).ok()?;
    for step in full.iter_recorded() {
        let count = step.count_at_value().div_ceil(2);
        let _ = half.record_n(step.value_iterated_to(), count);
    }
    Some(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_it_was_told_to_two_digits() {
        let sketch = Sketch::default();
        assert_eq!(sketch.measured(), Measured::default());
        for i in 1..=100 {
            sketch.record(Duration::from_millis(i * 100));
        }
        let Measured {
            count,
            mean,
            p50,
            p95,
        } = sketch.measured();
        assert_eq!(count, 100);
        for (seen, wanted) in [(mean, 5.05), (p50, 5.0), (p95, 9.5)] {
            assert!(
                (seen.as_secs_f64() / wanted - 1.0).abs() < 0.01,
                "{seen:?} {wanted}"
            );
        }
    }

    #[test]
    fn it_survives_being_written_down() {
        let sketch = Sketch::default();
        for millis in [0, 3, 250, 250, 86_400_000, u64::MAX / 2] {
            sketch.record(Duration::from_millis(millis));
        }
        let again = Sketch::default();
        again.restore(&sketch.counts());
        assert_eq!(again.measured(), sketch.measured());
    }

    #[test]
    fn newer_durations_count_more() {
        let sketch = Sketch::default();
        for second in [1, 9] {
            for _ in 0..3 * Sketch::MOST {
                sketch.record(Duration::from_secs(second));
            }
        }
        let Measured { count, mean, .. } = sketch.measured();
        assert!(count <= Sketch::MOST, "{count}");
        assert!(mean > Duration::from_secs(8), "{mean:?}");
    }
}
