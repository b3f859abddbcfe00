//! When requests arrive: traffic of several kinds, the same for the same seed.

use std::f64::consts::TAU;
use std::iter::Peekable;
use std::time::Duration;

use super::random::Random;

/// How the requests of one deployment arrive; rates are in requests a second,
/// times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pattern {
    /// Independent of each other, at a constant rate.
    Poisson { rps: f64 },
    /// At `rps` for `on`, then not at all for `off`, over and over.
    OnOff { on: f64, off: f64, rps: f64 },
    /// Bursts of `size` within a second, `every` so often in the mean.
    Bursty { every: f64, size: u32 },
    /// A rate that swings between `low` and `high` once a `day`.
    Diurnal { day: f64, low: f64, high: f64 },
    /// One alone, `every` so often, give or take a half.
    Rare { every: f64 },
}

/// A request that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Since the trace began.
    pub(crate) at: Duration,
    /// Whose it is, as an index into the patterns.
    pub(crate) role: usize,
}

/// The arrivals of several patterns in order of time, without end.
#[derive(Debug)]
pub(crate) struct Trace {
    roles: Vec<Peekable<Arrivals>>,
    speed: f64,
}

impl Trace {
    /// The trace of `seed`; time in it runs `speed` times faster.
    pub(crate) fn new(seed: u64, speed: f64, patterns: impl IntoIterator<Item = Pattern>) -> Self {
        let arrivals = |(stream, pattern)| Arrivals::new(pattern, Random::new(seed, stream));
        let roles = (0..).zip(patterns).map(arrivals);
        Trace {
            roles: roles.map(Iterator::peekable).collect(),
            speed,
        }
    }
}

impl Iterator for Trace {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let heads = self.roles.iter_mut().map(|role| role.peek().copied());
        let (role, at) = heads
            .enumerate()
            .filter_map(|(role, at)| Some((role, at?)))
            .min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        self.roles[role].next();
        let at = Duration::try_from_secs_f64(at / self.speed).ok()?;
        Some(Arrival { at, role })
    }
}

/// The arrivals of one pattern, seconds since it began.
#[derive(Debug)]
struct Arrivals {
    pattern: Pattern,
    random: Random,
    at: f64,
    left_of_burst: u32,
}

impl Arrivals {
    fn new(pattern: Pattern, random: Random) -> Self {
        Arrivals {
            pattern,
            random,
            at: 0.0,
            left_of_burst: 0,
        }
    }

    /// The next of a rate that changes: candidates at the highest rate, of
    /// which each is taken as often as its moment's rate says.
    fn thinned(&mut self, highest: f64, rate: impl Fn(f64) -> f64) {
        loop {
            self.at += self.random.exponential(1.0 / highest);
            if self.random.unit() * highest < rate(self.at) {
                return;
            }
        }
    }

    fn burst(&mut self, every: f64, size: u32) {
        let mean = match self.left_of_burst {
            0 => every,
            _ => 1.0 / f64::from(size),
        };
        self.left_of_burst = self.left_of_burst.checked_sub(1).unwrap_or(size - 1);
        self.at += self.random.exponential(mean);
    }
}

impl Iterator for Arrivals {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        match self.pattern {
            Pattern::Poisson { rps } => self.at += self.random.exponential(1.0 / rps),
            Pattern::OnOff { on, off, rps } => self.thinned(rps, |at| match at % (on + off) < on {
                true => rps,
                false => 0.0,
            }),
            Pattern::Bursty { every, size } => self.burst(every, size),
            Pattern::Diurnal { day, low, high } => self.thinned(high, |at| {
                let noon = (1.0 - (TAU * at / day).cos()) / 2.0;
                low + (high - low) * noon
            }),
            Pattern::Rare { every } => self.at += self.random.around(every),
        }
        Some(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(pattern: Pattern, seconds: f64) -> Vec<f64> {
        let all = Arrivals::new(pattern, Random::new(3, 0));
        all.take_while(|at| *at < seconds).collect()
    }

    fn per_second(pattern: Pattern) -> f64 {
        arrivals(pattern, 10_000.0).len() as f64 / 10_000.0
    }

    #[track_caller]
    fn near(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 0.1, "{found} for {wanted}");
    }

    #[test]
    fn every_pattern_keeps_its_mean() {
        near(per_second(Pattern::Poisson { rps: 2.0 }), 2.0);
        let on_off = Pattern::OnOff {
            on: 10.0,
            off: 30.0,
            rps: 4.0,
        };
        near(per_second(on_off), 1.0);
        let bursty = Pattern::Bursty {
            every: 19.0,
            size: 10,
        };
        near(per_second(bursty), 0.5);
        let diurnal = Pattern::Diurnal {
            day: 100.0,
            low: 0.5,
            high: 1.5,
        };
        near(per_second(diurnal), 1.0);
        near(per_second(Pattern::Rare { every: 20.0 }), 0.05);
    }

    #[test]
    fn nothing_arrives_while_it_is_off() {
        let pattern = Pattern::OnOff {
            on: 10.0,
            off: 30.0,
            rps: 4.0,
        };
        assert!(arrivals(pattern, 1_000.0).iter().all(|at| at % 40.0 < 10.0));
    }

    #[test]
    fn a_rare_request_comes_alone() {
        let rare = arrivals(Pattern::Rare { every: 20.0 }, 1_000.0);
        assert!(rare.windows(2).all(|pair| pair[1] - pair[0] >= 10.0));
    }

    fn both(seed: u64, speed: f64) -> Vec<Arrival> {
        let patterns = [
            Pattern::Poisson { rps: 3.0 },
            Pattern::Bursty {
                every: 5.0,
                size: 4,
            },
        ];
        Trace::new(seed, speed, patterns).take(500).collect()
    }

    #[test]
    fn a_trace_is_in_order_and_the_same_for_the_same_seed() {
        let trace = both(1, 1.0);
        assert!(trace.is_sorted_by_key(|arrival| arrival.at));
        assert!((0..2).all(|role| trace.iter().any(|arrival| arrival.role == role)));
        assert_eq!(trace, both(1, 1.0));
        assert_ne!(trace, both(2, 1.0));
    }

    #[test]
    fn speed_changes_when_and_nothing_else() {
        for (slow, fast) in both(1, 1.0).iter().zip(both(1, 4.0)) {
            assert_eq!(slow.role, fast.role);
            assert!((slow.at.as_secs_f64() - 4.0 * fast.at.as_secs_f64()).abs() < 1e-6);
        }
    }
}
