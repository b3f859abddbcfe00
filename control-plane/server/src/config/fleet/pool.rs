use thermocline_policy::is_dns_label;
use thermocline_wire::reader::Object;

use crate::fleet::PoolSettings;

/// Reads `pool` of `[fleet]`, and `[fleet.autoscale]`, which tells how it is scaled.
pub(super) fn pool(fleet: &Object<'_>) -> Option<PoolSettings> {
    let name = fleet.text("pool");
    let valid = name.as_ref().is_none_or(|name| is_dns_label(name));
    if !valid {
        fleet.wrong("pool", "must be the name of a deployment");
    }
    let section = fleet.object("autoscale");
    let mut settings = PoolSettings::of(name.as_deref().unwrap_or_default());
    if let Some(section) = section {
        if name.is_none() {
            fleet.wrong("autoscale", "needs fleet.pool, the deployment to scale");
        }
        autoscale(&section, &mut settings);
        section.finish();
    }
    name.filter(|_| valid).map(|_| settings)
}

fn autoscale(section: &Object<'_>, settings: &mut PoolSettings) {
    if let Some(target) = section.number_above_zero("target") {
        match target <= 1.0 {
            true => settings.target = target,
            false => section.wrong("target", "must be above 0 and at most 1"),
        }
    }
    settings.clear_within = section
        .duration_above_zero("clear_within")
        .unwrap_or(settings.clear_within);
    settings.down_after = section
        .duration("down_after")
        .unwrap_or(settings.down_after);
    settings.gpu_budget = section
        .whole("gpu_budget", 0..=1_000_000)
        .or(settings.gpu_budget);
}
