use std::collections::VecDeque;

use super::Point;

/// The newest `MOST` points; of those that differ in nothing but their time the
/// first and the last alone are kept.
#[derive(Debug, Default)]
pub(super) struct Ring<const MOST: usize>(VecDeque<Point>);

impl<const MOST: usize> Ring<MOST> {
    pub(super) fn push(&mut self, point: Point) {
        let same = |kept: &Point| Point { at: 0, ..*kept } == Point { at: 0, ..point };
        let len = self.0.len();
        if len >= 2 && self.0.range(len - 2..).all(same) {
            self.0[len - 1].at = point.at;
            return;
        }
        if len == MOST {
            self.0.pop_front();
        }
        self.0.push_back(point);
    }

    /// The points from `from` to `to`, seconds since 1970, and the one that
    /// was in force at `from`.
    pub(super) fn between(&self, from: u32, to: u32) -> Vec<Point> {
        let first = self.0.partition_point(|p| p.at < from);
        let points = self.0.iter().skip(first.saturating_sub(1));
        points.take_while(|p| p.at <= to).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: u32, in_flight: u32) -> Point {
        Point {
            at,
            tier: None,
            rps: 0.0,
            in_flight,
            waiting: 0,
            p50: -1.0,
            p95: -1.0,
            ended: 0,
            failed: 0,
            usd_per_hour: 0.0,
        }
    }

    fn times(points: &[Point]) -> Vec<u32> {
        points.iter().map(|p| p.at).collect()
    }

    #[test]
    fn a_rest_of_any_length_takes_two_points() {
        let mut ring = Ring::<4>::default();
        for at in 0..100 {
            ring.push(point(at, 0));
        }
        ring.push(point(100, 1));
        assert_eq!(times(&ring.between(0, 200)), [0, 99, 100]);
    }

    #[test]
    fn the_oldest_go_and_a_part_begins_with_what_was_in_force() {
        let mut ring = Ring::<4>::default();
        for at in 0..6 {
            ring.push(point(at * 10, at));
        }
        assert_eq!(times(&ring.between(0, 200)), [20, 30, 40, 50]);
        assert_eq!(times(&ring.between(35, 45)), [30, 40]);
    }
}
