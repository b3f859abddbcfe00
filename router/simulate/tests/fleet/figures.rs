//! What came of a run.

use std::time::Duration;

use thermocline_policy::Moment;

/// One answered request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) model: usize,
    pub(crate) arrived: Moment,
    pub(crate) took: Duration,
    /// Whether its model was there when it came.
    pub(crate) warm: bool,
}

/// All that was answered and loaded.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) answers: Vec<Answer>,
    pub(crate) loads: Vec<(Moment, usize)>,
}

impl Figures {
    /// What came after `from`.
    pub(crate) fn after(&self, from: Moment) -> impl Iterator<Item = &Answer> {
        self.answers
            .iter()
            .filter(move |answer| answer.arrived >= from)
    }

    /// The part of requests after `from` whose model was there.
    pub(crate) fn hit_rate(&self, from: Moment) -> f64 {
        let (mut hits, mut all) = (0, 0);
        for answer in self.after(from) {
            hits += u32::from(answer.warm);
            all += 1;
        }
        f64::from(hits) / f64::from(all)
    }

    /// Loads a second between `from` and `to`.
    pub(crate) fn load_rate(&self, from: Moment, to: Moment) -> f64 {
        let loads = self.loads.iter().filter(|(at, _)| *at >= from && *at < to);
        loads.count() as f64 / to.since(from).as_secs_f64()
    }

    /// The `quantile` (0 to 1) of the latencies of requests after `from` for models that `count`.
    pub(crate) fn latency(
        &self,
        from: Moment,
        quantile: f64,
        count: impl Fn(usize) -> bool,
    ) -> Duration {
        let counted = self.after(from).filter(|answer| count(answer.model));
        let mut took: Vec<Duration> = counted.map(|answer| answer.took).collect();
        took.sort_unstable();
        took[((took.len() - 1) as f64 * quantile) as usize]
    }
}
