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
}

/// The section `[budget]`; a limit of 0 is none.
pub(super) fn budget(root: &Object<'_>) -> BudgetConfig {
    let Some(section) = root.object("budget") else {
        return BudgetConfig::default();
    };
    let number = |key| section.number(key).filter(|usd| *usd > 0.0);
    let config = BudgetConfig {
        usd_per_hour: number("usd_per_hour").map(NanoUsd::from_usd),
        instances: section
            .whole("instances", 0..=1_000_000)
            .filter(|most| *most > 0),
        assumed_usd_per_hour: number("assumed_usd_per_hour").and_then(UsdPerSecond::hourly),
        assumed_usd_per_second: number("assumed_usd_per_second").and_then(UsdPerSecond::of),
    };
    section.finish();
    config
}
