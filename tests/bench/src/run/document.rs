//! The result of one scenario, as JSON.

use serde_json::{Value, json};

use super::series::{Series, Slot};
use super::summary::Summary;

impl Summary {
    /// Everything in the table, and the figures of every slot.
    pub(super) fn json(&self) -> Value {
        let targets: Vec<Value> = self
            .series
            .iter()
            .map(|series| self.target_json(series))
            .collect();
        json!({ "scenario": self.scenario.to_string(), "targets": targets })
    }

    fn target_json(&self, series: &Series) -> Value {
        let (sum, peak) = (&series.sum, series.peak);
        json!({
            "target": series.target.name,
            "requests": sum.requests,
            "faults": sum.faults,
            "p50_ns": sum.latency.quantile(0.5),
            "p99_ns": sum.latency.quantile(0.99),
            "late_p50_ns": sum.lateness.quantile(0.5),
            "late_p99_ns": sum.lateness.quantile(0.99),
            "peak": peak,
            "slots": { "requests_per_second": series.each(Slot::rate), "cpu_us_per_request": series.each(Slot::cpu_micros), "p50_ns": series.each(Slot::p50) },
            "ratios": {
                "requests_per_second": self.spread(series, Slot::rate),
                "cpu": self.spread(series, Slot::cpu_micros),
                "p50": self.spread(series, Slot::p50),
                "late_p50": self.spread(series, Slot::lateness),
            },
        })
    }
}
