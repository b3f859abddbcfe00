//! Prometheus metrics, read from what exists: a deployment that is gone leaves
//! no series behind, and no label comes from a client.

mod budget;
mod fleet;

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use thermocline_policy::Tier;
use thermocline_table::{Deployment, Histogram};

use crate::control::ControlPlane;

/// The text of `/metrics` (OpenMetrics 1.0).
pub(crate) fn render(control: &Arc<ControlPlane>) -> String {
    let mut registry = Registry::with_prefix("thermocline");
    registry.register_collector(Box::new(View(control.clone())));
    let mut text = String::new();
    if encode(&mut text, &registry).is_err() {
        tracing::error!("the metrics could not be written");
    }
    text
}

struct View(Arc<ControlPlane>);

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("View")
    }
}

type Live = Vec<Arc<Deployment>>;

impl Collector for View {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let live: Live = self.0.all().into_iter().map(|d| d.live.clone()).collect();
        requests(&mut encoder, &live)?;
        histograms(&mut encoder, &live)?;
        self.gauges(&mut encoder, &live)?;
        transitions(&mut encoder, &live)?;
        self.costs(&mut encoder)?;
        budget::encode(&self.0, &mut encoder)?;
        self.instances(&mut encoder)?;
        self.providers(&mut encoder)?;
        self.fleet(&mut encoder)?;
        self.loops(&mut encoder)
    }
}

fn requests(encoder: &mut DescriptorEncoder<'_>, live: &Live) -> Result<(), fmt::Error> {
    let help = "Requests by how they were served and ended";
    let mut family = encoder.encode_descriptor("requests", help, None, MetricType::Counter)?;
    for deployment in live {
        for (tier, start, outcome, n) in deployment.tally.requests() {
            family
                .encode_family(&[
                    ("deployment", &*deployment.name),
                    ("tier", tier.as_str()),
                    ("start", start.as_str()),
                    ("outcome", outcome.as_str()),
                ])?
                .encode_counter::<NoLabelSet, _, u64>(&n, None)?;
        }
    }
    let help = "Clients that left before the end";
    let mut family =
        encoder.encode_descriptor("client_disconnects", help, None, MetricType::Counter)?;
    for deployment in live {
        family
            .encode_family(&[("deployment", &*deployment.name)])?
            .encode_counter::<NoLabelSet, _, u64>(&deployment.tally.disconnects(), None)?;
    }
    Ok(())
}

fn histograms(encoder: &mut DescriptorEncoder<'_>, live: &Live) -> Result<(), fmt::Error> {
    type Pick = fn(&Deployment) -> &Histogram;
    let all: [(&str, &str, Pick); 4] = [
        (
            "request_duration_seconds",
            "From arrival to the last byte",
            |d| &d.tally.duration,
        ),
        (
            "queue_duration_seconds",
            "From arrival until sent to a backend",
            |d| &d.tally.queue,
        ),
        (
            "inference_duration_seconds",
            "From there to the last byte",
            |d| &d.tally.inference,
        ),
        (
            "cold_start_seconds",
            "From the wish for a backend until ready",
            |d| &d.tally.cold_start,
        ),
    ];
    for (name, help, pick) in all {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for deployment in live {
            let histogram = pick(deployment);
            let bounds = Histogram::BOUNDS.into_iter().chain([f64::INFINITY]);
            let buckets: Vec<(f64, u64)> = bounds.zip(histogram.counts()).collect();
            let count = buckets.iter().map(|(_, n)| n).sum();
            family
                .encode_family(&[("deployment", &*deployment.name)])?
                .encode_histogram::<NoLabelSet>(histogram.sum(), count, &buckets, None)?;
        }
    }
    Ok(())
}

fn transitions(encoder: &mut DescriptorEncoder<'_>, live: &Live) -> Result<(), fmt::Error> {
    let help = "Changes of tier";
    let mut family =
        encoder.encode_descriptor("tier_transitions", help, None, MetricType::Counter)?;
    for deployment in live {
        for (from, to, reason, n) in deployment.tally.transitions() {
            family
                .encode_family(&[
                    ("deployment", &*deployment.name),
                    ("from", from.as_str()),
                    ("to", to.as_str()),
                    ("reason", reason.as_str()),
                ])?
                .encode_counter::<NoLabelSet, _, u64>(&n, None)?;
        }
    }
    let mut family =
        encoder.encode_descriptor("cold_starts", "Starts by result", None, MetricType::Counter)?;
    for deployment in live {
        for (tier, ok, n) in deployment.tally.cold_starts() {
            family
                .encode_family(&[
                    ("deployment", &*deployment.name),
                    ("tier", tier.as_str()),
                    ("result", if ok { "ok" } else { "failed" }),
                ])?
                .encode_counter::<NoLabelSet, _, u64>(&n, None)?;
        }
    }
    Ok(())
}

impl View {
    fn costs(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Dollars paid; serverless as metered from its requests";
        let mut family = encoder.encode_descriptor("cost_usd", help, None, MetricType::Counter)?;
        for deployment in self.0.all() {
            for ((tier, provider), paid) in deployment.books.paid() {
                family
                    .encode_family(&[
                        ("deployment", &*deployment.live.name),
                        ("tier", tier.as_str()),
                        ("provider", &provider),
                    ])?
                    .encode_counter::<NoLabelSet, _, u64>(&paid.usd, None)?;
            }
        }
        Ok(())
    }

    fn gauges(&self, encoder: &mut DescriptorEncoder<'_>, live: &Live) -> Result<(), fmt::Error> {
        let now = self.0.clock.now();
        type Read<'r> = &'r dyn Fn(&Deployment) -> f64;
        let gauges: [(&str, &str, Read<'_>); 3] = [
            ("rps", "Arrivals a second over the window", &|d| {
                d.observe(now).rps
            }),
            ("in_flight", "Requests that backends have in hand", &|d| {
                d.in_flight().into()
            }),
            (
                "waiting",
                "Requests that wait for a place or a start",
                &|d| d.waiting().into(),
            ),
        ];
        for (name, help, read) in gauges {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for deployment in live {
                family
                    .encode_family(&[("deployment", &*deployment.name)])?
                    .encode_gauge(&read(deployment))?;
            }
        }
        let help = "1 for the tier in force";
        let mut family = encoder.encode_descriptor("tier", help, None, MetricType::Gauge)?;
        for deployment in live {
            let Some(current) = deployment.current() else {
                continue;
            };
            for tier in Tier::ALL {
                family
                    .encode_family(&[("deployment", &*deployment.name), ("tier", tier.as_str())])?
                    .encode_gauge(&i64::from(tier == current))?;
            }
        }
        Ok(())
    }

    fn instances(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut counts = std::collections::BTreeMap::new();
        for instance in self.0.index().values() {
            let key = (
                instance.provider.name.clone(),
                instance.tier,
                instance.state().as_str(),
            );
            *counts.entry(key).or_insert(0i64) += 1;
        }
        let help = "Instances by where they stand";
        let mut family = encoder.encode_descriptor("instances", help, None, MetricType::Gauge)?;
        for ((provider, tier, state), n) in counts {
            family
                .encode_family(&[
                    ("provider", provider.as_str()),
                    ("tier", tier.as_str()),
                    ("state", state),
                ])?
                .encode_gauge(&n)?;
        }
        Ok(())
    }

    fn providers(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Calls to providers by how they ended";
        let mut family =
            encoder.encode_descriptor("provider_calls", help, None, MetricType::Counter)?;
        for provider in self.0.providers.values() {
            for ((call, result), n) in provider.calls() {
                family
                    .encode_family(&[
                        ("provider", provider.name.as_str()),
                        ("call", call),
                        ("result", result),
                    ])?
                    .encode_counter::<NoLabelSet, _, u64>(&n, None)?;
            }
        }
        let help = "Instances found that nobody intended";
        let mut family = encoder.encode_descriptor("orphans", help, None, MetricType::Counter)?;
        let orphans = self.0.orphans.lock().unwrap_or_else(|e| e.into_inner());
        for provider in self.0.providers.keys() {
            let n = orphans.get(provider).copied().unwrap_or(0);
            family
                .encode_family(&[("provider", provider.as_str()), ("action", "deleted")])?
                .encode_counter::<NoLabelSet, _, u64>(&n, None)?;
        }
        Ok(())
    }

    /// Whether the loops keep up.
    fn loops(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Time since the loops last ticked";
        let mut age =
            encoder.encode_descriptor("tick_age_seconds", help, None, MetricType::Gauge)?;
        age.encode_gauge(&self.0.tick_age().as_secs_f64())?;
        let help = "Deployments that are to be looked at";
        let mut pending =
            encoder.encode_descriptor("passes_pending", help, None, MetricType::Gauge)?;
        pending.encode_gauge(&(self.0.passes_pending() as i64))?;
        let help = "Instances that something is being done about";
        let mut busy =
            encoder.encode_descriptor("instances_worked_on", help, None, MetricType::Gauge)?;
        busy.encode_gauge(&(self.0.instances_worked_on() as i64))
    }
}
