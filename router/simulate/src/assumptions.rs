use std::time::Duration;

use thermocline_policy::{CostModel, SLOT, Thresholds, Tier, TierSet};

use crate::trace::Row;

/// Everything that a replay takes for granted. Each has a default; all are
/// printed with the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Assumptions {
    /// The tiers that the deployment has, of serverless and pod.
    pub tiers: TierSet,
    /// Prices and times; the service time is that of a row that says nothing else.
    pub model: CostModel,
    /// Window and rates of mode `thresholds`, and the window of the others.
    pub thresholds: Thresholds,
    /// What 95 of 100 requests are to be answered within, by every policy that
    /// chooses a tier; `None` = money alone says.
    pub objective: Option<Duration>,
    /// How long a pod stays without work, at most.
    pub pod_idle: Duration,
    /// How often `regret` compares the tiers; above zero.
    pub slot: Duration,
    /// Chooses which pod starts fail.
    pub seed: u64,
    /// The share of pod starts that find no capacity, 0 to 1.
    pub pod_failures: f64,
    /// Input tokens that are read a second.
    pub in_tokens_per_s: f64,
    /// Seconds that an output token takes.
    pub s_per_out_token: f64,
}

impl Assumptions {
    /// Those that are made where nothing but `model` is known.
    pub fn of(model: CostModel) -> Self {
        Assumptions {
            tiers: Assumptions::both_tiers(),
            objective: None,
            model,
            thresholds: Thresholds::default(),
            pod_idle: Duration::from_secs(600),
            slot: SLOT,
            seed: 1,
            pod_failures: 0.0,
            in_tokens_per_s: 8000.0,
            s_per_out_token: 0.02,
        }
    }

    /// Serverless and a pod, which is what there is to choose between.
    pub fn both_tiers() -> TierSet {
        TierSet::EMPTY.with(Tier::Serverless).with(Tier::Pod)
    }

    /// How long a backend has the row's request in hand.
    pub fn service(&self, row: &Row) -> Duration {
        let tokens = || {
            let (read, written) = (row.in_tokens?, row.out_tokens?);
            Some(read / self.in_tokens_per_s + written * self.s_per_out_token)
        };
        let seconds = row.exec_s.or_else(tokens);
        seconds.map_or(self.model.work.service, Duration::from_secs_f64)
    }
}
