//! The prices and times that a decision is reckoned with.

use std::time::Duration;

use thermocline_policy::Tier;

use crate::output::{about, dollars};
use crate::view::{Costs, Prices};

/// What is paid and how long things take, of the tiers that there are.
pub(super) fn tell(costs: &Costs) -> Vec<String> {
    let prices = costs.prices.as_ref().and_then(|it| prices(costs, it));
    prices.into_iter().chain(times(costs)).collect()
}

fn prices(costs: &Costs, prices: &Prices) -> Option<String> {
    let serverless = prices.serverless_usd_per_s.map(|usd| {
        let usd = (usd * 1e9).round() / 1e9;
        format!("a serverless worker ${usd} a second")
    });
    let pod = prices.pod_usd_per_hour;
    let pod = pod.map(|usd| format!("a pod ${} an hour", dollars(usd)));
    let wait = prices.value_of_wait_usd_per_s;
    let wait = (wait > 0.0).then(|| format!("a second of waiting ${wait}"));
    let known = [
        serverless.filter(|_| costs.of(Tier::Serverless).is_some()),
        pod.filter(|_| costs.of(Tier::Pod).is_some()),
        wait,
    ];
    sentence("Prices", known)
}

fn times(costs: &Costs) -> Option<String> {
    let (times, measured) = (&costs.times, &costs.times.measured);
    let of = |tier, seconds: Option<f64>, what: &str, count| {
        costs.of(tier)?;
        let time = about(Duration::try_from_secs_f64(seconds?).ok()?);
        let how = match count {
            0 => "assumed".to_owned(),
            count => format!("{count} measured"),
        };
        Some(format!("{what} {time} ({how})"))
    };
    let (serverless, pod) = (Tier::Serverless, Tier::Pod);
    // Where no request found a worker up, nobody can tell the two apart.
    let (service, woken) = (measured.serverless_service, measured.cold_start);
    let (on_serverless, cold) = match service == 0 && woken > 0 {
        true => (
            of(
                serverless,
                sum(times.service_s, times.cold_start_s),
                "a cold start with service on serverless",
                woken,
            ),
            None,
        ),
        false => (
            of(
                serverless,
                times.service_s,
                "service on serverless",
                service,
            ),
            of(serverless, times.cold_start_s, "a cold start", woken),
        ),
    };
    sentence(
        "Times",
        [
            on_serverless,
            cold,
            of(
                pod,
                times.pod_service_s,
                "service on a pod",
                measured.pod_service,
            ),
            of(pod, times.boot_s, "a boot", measured.boot),
        ],
    )
}

fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one? + other?)
}

fn sentence<const N: usize>(title: &str, parts: [Option<String>; N]) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{title}: {}.", parts.join(", ")))
}
