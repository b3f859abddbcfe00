//! Made-up traffic through the policies: decisions that must stay as they are,
//! what must hold for all traffic, and the live system beside the replay.
#![allow(clippy::unwrap_used)] // the helpers too are tests

mod costs;
mod golden;
mod live;
mod steady;

use std::time::Duration;

use thermocline_policy::{CostModel, Moment, Prices, Thresholds, UsdPerSecond, Work};
use thermocline_simulate::Assumptions;

/// Prices and times of an A100: $1.39 an hour, $0.00076 a second.
pub(crate) fn assumptions(wait: f64) -> Assumptions {
    Assumptions {
        tiers: Assumptions::both_tiers(),
        objective: None,
        model: CostModel {
            prices: Prices {
                serverless: UsdPerSecond::of(0.000_76),
                pod: UsdPerSecond::hourly(1.39),
                wait: UsdPerSecond::of(wait).unwrap_or_default(),
            },
            work: Work::default(),
        },
        thresholds: Thresholds::default(),
        pod_idle: Duration::from_secs(600),
        slot: Duration::from_secs(10),
        seed: 1,
        pod_failures: 0.0,
        in_tokens_per_s: 8000.0,
        s_per_out_token: 0.02,
    }
}

pub(crate) fn at(seconds: f64) -> Moment {
    Moment::from_origin(Duration::from_secs_f64(seconds))
}

pub(crate) fn seconds(at: Moment) -> f64 {
    at.since(Moment::ORIGIN).as_secs_f64()
}
