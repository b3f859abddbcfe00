//! The result of one scenario, as text.

use super::series::{Figure, Series, Slot};
use crate::ratio::Spread;
use crate::scenario::Scenario;
use crate::table::{self, duration, mebibytes, or_dash};

/// Figures that are compared with the baseline's, by name.
const COMPARED: [(&str, Figure); 4] = [
    ("req/s", Slot::rate),
    ("cpu", Slot::cpu_micros),
    ("p50", Slot::p50),
    ("late p50", Slot::lateness),
];

/// What every target did, and how it compares.
pub(super) struct Summary {
    pub(super) scenario: Scenario,
    pub(super) series: Vec<Series>,
    baseline: String,
}

impl Summary {
    pub(super) fn new(scenario: Scenario, series: Vec<Series>, baseline: &str) -> Self {
        Summary {
            scenario,
            series,
            baseline: baseline.to_owned(),
        }
    }

    /// Requests that failed, of all targets.
    pub(super) fn failures(&self) -> u64 {
        self.series.iter().map(|series| series.sum.failures()).sum()
    }

    /// A heading, the figures, the ratios as min/median/max, and what failed.
    pub(super) fn table(&self) -> String {
        let mut rows = vec![self.heading()];
        rows.extend(self.series.iter().map(|series| self.row(series)));
        let failures: String = self.series.iter().map(complaint).collect();
        format!(
            "{}, ratios to {} as min/median/max\n{}{failures}",
            self.scenario,
            self.baseline,
            table::render(&rows)
        )
    }

    /// The compared figures that this scenario has: only streams have lateness.
    fn compared(&self) -> &'static [(&'static str, Figure)] {
        if self.streams() {
            &COMPARED
        } else {
            &COMPARED[..3]
        }
    }

    fn streams(&self) -> bool {
        self.scenario.kind.events() > 0
    }

    fn heading(&self) -> Vec<String> {
        let mut cells = vec![
            "target",
            "req/s",
            "p50",
            "p99",
            "cpu µs/req",
            "RSS MiB",
            "PSS MiB",
        ];
        if self.streams() {
            cells.extend(["late p50", "late p99"]);
        }
        let ratios = self.compared().iter().map(|(name, _)| format!("× {name}"));
        cells.into_iter().map(str::to_owned).chain(ratios).collect()
    }

    fn row(&self, series: &Series) -> Vec<String> {
        let (sum, peak) = (&series.sum, series.peak);
        let figure = |figure, digits: usize| {
            or_dash(median(series, figure).map(|value| format!("{value:.digits$}")))
        };
        let mut cells = vec![
            series.target.name.clone(),
            figure(Slot::rate, 1),
            or_dash(sum.latency.quantile(0.5).map(duration)),
            or_dash(sum.latency.quantile(0.99).map(duration)),
            figure(Slot::cpu_micros, 1),
            or_dash(peak.map(|peak| mebibytes(peak.rss))),
            or_dash(peak.map(|peak| mebibytes(peak.pss))),
        ];
        if self.streams() {
            cells.extend([0.5, 0.99].map(|q| or_dash(sum.lateness.quantile(q).map(duration))));
        }
        cells.extend(
            self.compared()
                .iter()
                .map(|(_, figure)| self.ratio(series, *figure)),
        );
        cells
    }

    fn ratio(&self, series: &Series, figure: Figure) -> String {
        or_dash(self.spread(series, figure).map(|spread| spread.to_string()))
    }

    /// A target's figure by the baseline's, over the rounds that have both.
    pub(super) fn spread(&self, series: &Series, figure: Figure) -> Option<Spread> {
        let baseline = self
            .series
            .iter()
            .find(|other| other.target.name == self.baseline)?;
        Spread::paired(&series.each(figure), &baseline.each(figure))
    }
}

/// The median over the slots, which one disturbed slot does not move.
fn median(series: &Series, figure: Figure) -> Option<f64> {
    let figures = series.each(figure).into_iter().flatten().collect();
    Spread::of(figures).map(|spread| spread.median)
}

fn complaint(series: &Series) -> String {
    let one =
        |(what, count): (&String, &u64)| format!("  {}: {count} × {what}\n", series.target.name);
    series.sum.faults.iter().map(one).collect()
}
