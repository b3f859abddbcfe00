use std::collections::VecDeque;
use std::time::Duration;

use thermocline_policy::Moment;

const SPAN: Duration = Duration::from_secs(300);

/// Loads of the last five minutes.
#[derive(Debug, Default)]
pub(super) struct LoadRate(VecDeque<Moment>);

impl LoadRate {
    pub(super) fn count(&mut self, now: Moment) {
        self.0.push_back(now);
    }

    /// A minute, over the last five.
    pub(super) fn read(&mut self, now: Moment) -> f64 {
        while self.0.front().is_some_and(|at| now.since(*at) >= SPAN) {
            self.0.pop_front();
        }
        self.0.len() as f64 * 60.0 / SPAN.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_of_five_minutes_count() {
        let mut rate = LoadRate::default();
        let at = |seconds| Moment::from_origin(Duration::from_secs(seconds));
        (0..10).for_each(|second| rate.count(at(second)));
        assert_eq!(rate.read(at(10)), 2.0);
        assert_eq!(rate.read(at(304)), 1.0);
        assert_eq!(rate.read(at(400)), 0.0);
    }
}
