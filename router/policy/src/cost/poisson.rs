/// A share of arrivals that makes no difference.
pub(super) const NEGLIGIBLE: f64 = 1e-9;
/// The mean up to which Poisson probabilities are summed one by one.
pub(super) const MOST_POISSON: f64 = 600.0;

/// P(N ≥ n) of a Poisson variable, for rising n.
pub(super) struct PoissonTail {
    mean: f64,
    /// The first n that is not in `below`.
    next: u64,
    /// P(N = next).
    term: f64,
    /// P(N < next).
    below: f64,
}

impl PoissonTail {
    pub(super) fn of(mean: f64) -> Self {
        PoissonTail {
            mean,
            next: 0,
            term: (-mean).exp(),
            below: 0.0,
        }
    }

    pub(super) fn at_least(&mut self, n: u64) -> f64 {
        if self.mean > MOST_POISSON {
            // Its deviation is small against its mean.
            return if (n as f64) < self.mean { 1.0 } else { 0.0 };
        }
        while self.next < n && 1.0 - self.below >= NEGLIGIBLE {
            self.below += self.term;
            self.next += 1;
            self.term *= self.mean / self.next as f64;
        }
        (1.0 - self.below).clamp(0.0, 1.0)
    }
}
