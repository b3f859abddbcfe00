use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use thermocline_policy::{Brake, NanoUsd, Tier};

use crate::control::ControlPlane;

/// What is spent of budgets, and what they forbid.
pub(super) fn encode(
    control: &ControlPlane,
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), fmt::Error> {
    let all = control.all();
    type Read<'r> = &'r dyn Fn(&crate::deployment::Controlled) -> Option<NanoUsd>;
    let gauges: [(&str, &str, Read<'_>); 2] = [
        ("budget_usd", "Dollars that a day may cost", &|d| {
            control.daily_budget(d)
        }),
        (
            "budget_spent_usd",
            "Dollars spent since midnight UTC",
            &|d| control.daily_budget(d).map(|_| control.spent_today(d)),
        ),
    ];
    for (name, help, read) in gauges {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for deployment in &all {
            if let Some(usd) = read(deployment) {
                family
                    .encode_family(&[("deployment", &*deployment.live.name)])?
                    .encode_gauge(&usd.as_usd())?;
            }
        }
    }
    let help = "1 where budgets forbid starts or work in a tier";
    let mut family = encoder.encode_descriptor("budget_braked", help, None, MetricType::Gauge)?;
    for deployment in &all {
        let brakes = deployment.braking().brakes;
        for tier in [Tier::Serverless, Tier::Pod] {
            family
                .encode_family(&[
                    ("deployment", &*deployment.live.name),
                    ("tier", tier.as_str()),
                ])?
                .encode_gauge(&i64::from(brakes[tier] != Brake::Off))?;
        }
    }
    Ok(())
}
