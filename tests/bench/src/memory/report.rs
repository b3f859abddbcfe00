//! The result of a memory measurement.

use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::load::Tally;
use crate::process::Memory;
use crate::scenario::Scenario;
use crate::table::{self, mebibytes};

/// One target's memory before and at its peak.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) base: Memory,
    pub(super) peak: Memory,
    pub(super) cpu: Duration,
    pub(super) tally: Tally,
}

impl Sample {
    pub(super) fn failures(&self) -> u64 {
        self.tally.failures()
    }

    fn row(&self) -> Vec<String> {
        let growth = self.peak.above(self.base);
        let seconds = Duration::from_nanos(self.tally.elapsed_nanos).as_secs_f64();
        let sizes = [self.base.rss, self.peak.rss, growth.rss, self.peak.pss].map(mebibytes);
        let mut cells = vec![self.name.clone()];
        cells.extend(sizes);
        cells.extend([
            format!("{seconds:.1}"),
            format!("{:.1}", self.cpu.as_secs_f64()),
        ]);
        cells
    }

    fn complaint(&self) -> String {
        let one = |(what, count): (&String, &u64)| format!("  {}: {count} × {what}\n", self.name);
        self.tally.faults.iter().map(one).collect()
    }
}

impl Serialize for Sample {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Sample", 6)?;
        fields.serialize_field("target", &self.name)?;
        fields.serialize_field("base", &self.base)?;
        fields.serialize_field("peak", &self.peak)?;
        fields.serialize_field("cpu_ns", &crate::time::whole_nanos(self.cpu))?;
        fields.serialize_field("elapsed_ns", &self.tally.elapsed_nanos)?;
        fields.serialize_field("faults", &self.tally.faults)?;
        fields.end()
    }
}

/// Sizes in MiB, times in seconds, and what failed.
pub(super) fn table(scenario: Scenario, samples: &[Sample]) -> String {
    let heading = [
        "target",
        "RSS before",
        "RSS peak",
        "RSS growth",
        "PSS peak",
        "seconds",
        "cpu seconds",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(samples.iter().map(Sample::row));
    let failures: String = samples.iter().map(Sample::complaint).collect();
    format!(
        "{scenario}, one request per connection, MiB\n{}{failures}",
        table::render(&rows)
    )
}
