//! What charts are drawn from: how each deployment was, a point every two
//! seconds for twenty minutes, and one every two minutes for a day. In memory
//! only, bounded, and next to nothing for a deployment that rests.

mod latency;
mod ring;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};
use thermocline_policy::{Moment, NanoUsd, Tier};
use thermocline_table::{Deployment, Outcome};

use crate::control::ControlPlane;
use crate::deployment::Controlled;
use latency::Latency;
use ring::Ring;

/// Between two points.
pub(crate) const STEP: Duration = Duration::from_secs(2);
/// Between two points of the day: so many of the others.
const PER_COARSE: u32 = 60;
const FINE: usize = 600;
const COARSE: usize = 720;

/// How a deployment was at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Seconds since 1970, UTC.
    at: u32,
    tier: Option<Tier>,
    /// Arrivals a second over the policy's window.
    rps: f32,
    in_flight: u32,
    waiting: u32,
    /// Seconds; negative when no request ended.
    p50: f32,
    p95: f32,
    /// Requests that ended since the point before.
    ended: u32,
    failed: u32,
    usd_per_hour: f32,
}

/// The points of one deployment.
#[derive(Debug, Default)]
pub(crate) struct Series(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    fine: Ring<FINE>,
    coarse: Ring<COARSE>,
    building: Option<(Point, u32)>,
    latency: Latency,
    ended: u64,
    failed: u64,
}

impl Series {
    /// The 95th percentile of the last minute or so, seconds.
    pub(crate) fn recent_p95(&self) -> Option<f64> {
        self.kept().latency.recent(0.95)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Kept {
    fn sample(&mut self, live: &Deployment, now: Moment, at: u32, price: NanoUsd) {
        let (ended, failed) = counts(live);
        self.latency.read(live.tally.duration.counts());
        let point = Point {
            at,
            tier: live.current(),
            rps: live.observe(now).rps as f32,
            in_flight: live.in_flight(),
            waiting: live.waiting(),
            p50: self.latency.since_last(0.5).map_or(-1.0, |s| s as f32),
            p95: self.latency.since_last(0.95).map_or(-1.0, |s| s as f32),
            ended: ended.saturating_sub(self.ended) as u32,
            failed: failed.saturating_sub(self.failed) as u32,
            usd_per_hour: price.as_usd() as f32,
        };
        (self.ended, self.failed) = (ended, failed);
        self.fine.push(point);
        self.gather(point);
    }

    fn gather(&mut self, point: Point) {
        let (gathered, n) = match self.building.take() {
            None => (point, 1),
            Some((sum, n)) => (sum.with(point, n), n + 1),
        };
        if n == PER_COARSE {
            self.coarse.push(gathered);
        } else {
            self.building = Some((gathered, n));
        }
    }
}

impl Point {
    /// Together with one more: means of rates, the most of what waits, sums of counts.
    fn with(self, next: Point, n: u32) -> Point {
        let mean = |old: f32, new: f32| (old * n as f32 + new) / (n + 1) as f32;
        Point {
            at: next.at,
            tier: next.tier.or(self.tier),
            rps: mean(self.rps, next.rps),
            in_flight: self.in_flight.max(next.in_flight),
            waiting: self.waiting.max(next.waiting),
            p50: if next.p50 < 0.0 { self.p50 } else { next.p50 },
            p95: self.p95.max(next.p95),
            ended: self.ended.saturating_add(next.ended),
            failed: self.failed.saturating_add(next.failed),
            usd_per_hour: mean(self.usd_per_hour, next.usd_per_hour),
        }
    }
}

/// Requests that ended, and those of them that went wrong by nobody's wish.
fn counts(live: &Deployment) -> (u64, u64) {
    let fine = [
        Outcome::Ok,
        Outcome::ClientLeft,
        Outcome::ClientError,
        Outcome::Cancelled,
    ];
    let requests = live.tally.requests();
    requests.fold((0, 0), |(ended, failed), (_, _, outcome, n)| {
        let bad = if fine.contains(&outcome) { 0 } else { n };
        (ended + n, failed + bad)
    })
}

/// What the instances of a deployment cost an hour, together.
pub(crate) fn usd_per_hour(deployment: &Controlled) -> NanoUsd {
    let instances = deployment.instances();
    instances.iter().filter_map(|i| i.paid_per_hour()).sum()
}

impl ControlPlane {
    /// Takes a point of every deployment.
    pub(crate) fn sample(self: &Arc<Self>, now: Moment) {
        let at = (self.clock.wall_micros() / 1_000_000) as u32;
        for deployment in self.all() {
            let price = usd_per_hour(&deployment);
            let mut kept = deployment.series.kept();
            kept.sample(&deployment.live, now, at, price);
        }
    }

    /// The points between two times, microseconds since 1970, as columns. A
    /// point stands for what was until the next one.
    pub(crate) fn series_json(&self, deployment: &Controlled, from: i64, to: i64) -> Value {
        let seconds = |micros: i64| (micros / 1_000_000).clamp(0, u32::MAX.into()) as u32;
        let (from, to) = (seconds(from), seconds(to));
        let now = seconds(self.clock.wall_micros());
        let kept = deployment.series.kept();
        let recent = now.saturating_sub((FINE as u32) * STEP.as_secs() as u32);
        let (points, step) = match from >= recent {
            true => (kept.fine.between(from, to), STEP),
            false => (kept.coarse.between(from, to), STEP * PER_COARSE),
        };
        let thresholds = deployment.live.thresholds();
        json!({
            "deployment": &*deployment.live.name,
            "step_s": step.as_secs(),
            "promote_rps": thresholds.promote_rps,
            "demote_rps": thresholds.demote_rps,
            "points": columns(&points),
        })
    }
}

fn columns(points: &[Point]) -> Value {
    let column = |read: fn(&Point) -> Value| points.iter().map(read).collect::<Vec<_>>();
    let some = |seconds: f32| match seconds < 0.0 {
        true => Value::Null,
        false => short(seconds),
    };
    json!({
        "at": column(|p| json!(p.at)),
        "tier": column(|p| json!(p.tier)),
        "rps": column(|p| short(p.rps)),
        "in_flight": column(|p| json!(p.in_flight)),
        "waiting": column(|p| json!(p.waiting)),
        "p50_s": points.iter().map(|p| some(p.p50)).collect::<Vec<_>>(),
        "p95_s": points.iter().map(|p| some(p.p95)).collect::<Vec<_>>(),
        "ended": column(|p| json!(p.ended)),
        "failed": column(|p| json!(p.failed)),
        "usd_per_hour": column(|p| short(p.usd_per_hour)),
    })
}

/// Four places are enough for a chart.
fn short(value: f32) -> Value {
    json!((f64::from(value) * 1e4).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: u32, rps: f32) -> Point {
        Point {
            at,
            tier: Some(Tier::Pod),
            rps,
            in_flight: 1,
            waiting: 0,
            p50: -1.0,
            p95: -1.0,
            ended: 2,
            failed: 0,
            usd_per_hour: 1.0,
        }
    }

    #[test]
    fn two_minutes_become_one_point_of_the_day() {
        let mut kept = Kept::default();
        for i in 0..PER_COARSE {
            kept.gather(point(i * 2, if i % 2 == 0 { 1.0 } else { 3.0 }));
        }
        let day = kept.coarse.between(0, u32::MAX);
        assert_eq!(day.len(), 1);
        assert!((day[0].rps - 2.0).abs() < 1e-3);
        assert_eq!((day[0].at, day[0].ended), (118, 120));
        assert!(kept.building.is_none());
    }
}
