use std::time::Duration;

use thermocline_policy::{CostModel, Count, Moment, Optimum, SoFar, Work};

/// The most counts that are kept: of half an hour with a request in each second.
const MOST_COUNTS: usize = 2048;
/// The most requests that are costed again.
const MOST_REQUESTS: u64 = 100_000;

/// What came before a boot was measured, to be costed again with the one that is.
#[derive(Debug)]
pub(super) struct Opening {
    begin: Moment,
    /// What earlier processes compared.
    so_far: Option<SoFar>,
    /// By the prices and times that were known when it came.
    counts: Vec<(CostModel, Vec<Count>)>,
    kept: usize,
    requests: u64,
}

impl Opening {
    /// Nothing has come by `begin`.
    pub(super) fn new(begin: Moment, so_far: Option<SoFar>) -> Self {
        Opening {
            begin,
            so_far,
            counts: Vec::new(),
            kept: 0,
            requests: 0,
        }
    }

    /// With `count` too; `None` once that is too much to be kept.
    pub(super) fn with(mut self, count: Count, model: &CostModel) -> Option<Self> {
        self.kept += 1;
        self.requests += count.requests;
        if self.kept > MOST_COUNTS || self.requests > MOST_REQUESTS {
            return None;
        }
        match self.counts.last_mut() {
            Some((known, counts)) if known == model => counts.push(count),
            _ => self.counts.push((*model, vec![count])),
        }
        Some(self)
    }

    /// The optimum before anything came.
    pub(super) fn begun(&self) -> Optimum {
        match self.so_far {
            Some(so_far) => Optimum::resumed(self.begin, so_far),
            None => Optimum::new(self.begin),
        }
    }

    /// All of it, as if `boot` had been known from the beginning on.
    pub(super) fn costed_again(&self, boot: Duration) -> Optimum {
        let mut optimum = self.begun();
        for (model, counts) in &self.counts {
            let work = Work { boot, ..model.work };
            let model = CostModel { work, ..*model };
            for count in counts {
                optimum.count(count, &model);
            }
        }
        optimum
    }
}
