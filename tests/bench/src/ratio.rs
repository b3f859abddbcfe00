//! Ratios of two targets measured in the same rounds.

use std::fmt;

use serde::Serialize;

/// The least, middle and greatest of some figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// The spread of `figures`, none if there are none.
    pub(crate) fn of(mut figures: Vec<f64>) -> Option<Spread> {
        figures.sort_by(f64::total_cmp);
        let (min, max) = (*figures.first()?, *figures.last()?);
        let (low, high) = ((figures.len() - 1) / 2, figures.len() / 2);
        let median = f64::midpoint(figures[low], figures[high]);
        Some(Spread { min, median, max })
    }

    /// The spread of `ours / theirs`, round by round; rounds without both are left out.
    pub(crate) fn paired(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Option<Spread> {
        let pairs = ours.iter().zip(theirs);
        let ratio = |(our, their): (&Option<f64>, &Option<f64>)| {
            their
                .filter(|value| *value > 0.0)
                .and_then(|value| Some((*our)? / value))
        };
        Spread::of(pairs.filter_map(ratio).collect())
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}/{:.2}/{:.2}", self.min, self.median, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_lies_between_the_middle_two() {
        let spread = Spread::of(vec![4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!(
            spread,
            Spread {
                min: 1.0,
                median: 2.5,
                max: 4.0
            }
        );
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let ours = [Some(1.0), Some(20.0), Some(300.0)];
        let theirs = [Some(1.0), Some(10.0), Some(100.0)];
        let spread = Spread::paired(&ours, &theirs).unwrap();
        assert_eq!(spread.to_string(), "1.00/2.00/3.00");
    }

    #[test]
    fn a_round_without_both_sides_is_left_out() {
        let spread = Spread::paired(
            &[None, Some(2.0), Some(3.0)],
            &[Some(1.0), Some(0.0), Some(1.5)],
        );
        assert_eq!(
            spread,
            Some(Spread {
                min: 2.0,
                median: 2.0,
                max: 2.0
            })
        );
        assert_eq!(Spread::paired(&[None], &[Some(1.0)]), None);
    }
}
