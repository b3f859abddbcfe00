use super::poisson::{MOST_POISSON, NEGLIGIBLE};

/// The share of Poisson arrivals that find all of `places` taken, 0 to 1, where
/// `load` would be in hand at a time if there were places for all, and who finds
/// none goes elsewhere: Erlang's B formula, by its recursion over the places
/// (Erlang 1917). It depends on the mean service time alone.
pub(super) fn blocked(load: f64, places: u64) -> f64 {
    if load > MOST_POISSON {
        // Its deviation is small against its mean.
        return (1.0 - places as f64 / load).max(0.0);
    }
    let mut share = 1.0;
    for place in 1..=places {
        share *= load / (place as f64 + load * share);
        if share < NEGLIGIBLE {
            return 0.0;
        }
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against (a^c/c!) / Σ a^i/i!, and tables of the formula.
    #[test]
    fn it_is_erlangs_b() {
        assert!((blocked(2.0, 2) - 0.4).abs() < 1e-12, "2 / (1 + 2 + 2)");
        assert!((blocked(1.0, 1) - 0.5).abs() < 1e-12);
        assert!((blocked(10.0, 10) - 0.2146).abs() < 1e-4);
        assert_eq!((blocked(0.0, 4), blocked(3.0, 0)), (0.0, 1.0));
        assert_eq!(blocked(1.0, 1_000_000_000), 0.0);
        assert!((blocked(2_000.0, 1_000) - 0.5).abs() < 1e-12);
    }
}
