use std::time::Duration;

use thermocline_policy::{NanoUsd, UsdPerSecond};
use thermocline_wire::reader::Object;

/// What all deployments together may cost, and what unknown prices count as.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BudgetConfig {
    /// Within each hour of UTC, and what live pods may commit to an hour.
    pub usd_per_hour: Option<NanoUsd>,
    /// The most live pods.
    pub instances: Option<u32>,
    /// The price of a pod whose provider tells none.
    pub assumed_usd_per_hour: Option<UsdPerSecond>,
    /// The price of serverless work whose provider tells none.
    pub assumed_usd_per_second: Option<UsdPerSecond>,
    /// How long the server may be away before pods end by themselves, where
    /// their provider can do that; zero = for ever.
    pub max_absence: Duration,
}

/// Unless the configuration says otherwise.
const MAX_ABSENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// Shorter ones would end pods while the server is restarted.
const SHORTEST_ABSENCE: Duration = Duration::from_secs(10 * 60);

/// The section `[budget]`; a limit of 0 is none.
pub(super) fn budget(root: &Object<'_>) -> BudgetConfig {
    let Some(section) = root.object("budget") else {
        return BudgetConfig {
            max_absence: MAX_ABSENCE,
            ..BudgetConfig::default()
        };
    };
    let number = |key| section.number(key).filter(|usd| *usd > 0.0);
    let config = BudgetConfig {
        usd_per_hour: number("usd_per_hour").map(NanoUsd::from_usd),
        instances: section
            .whole("instances", 0..=1_000_000)
            .filter(|most| *most > 0),
        assumed_usd_per_hour: number("assumed_usd_per_hour").and_then(UsdPerSecond::hourly),
        assumed_usd_per_second: number("assumed_usd_per_second").and_then(UsdPerSecond::of),
        max_absence: section.duration("max_absence").unwrap_or(MAX_ABSENCE),
    };
    if !config.max_absence.is_zero() && config.max_absence < SHORTEST_ABSENCE {
        section.wrong("max_absence", "must be 10m or more, or 0s");
    }
    section.finish();
    config
}
