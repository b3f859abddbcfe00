use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use thermocline_policy::fleet::Class;
use thermocline_provider::fleet::{FleetResult, FleetTally, SeenWorker};

use super::View;
use crate::fleet::utilisation;

impl View {
    /// The shared fleet's; nothing where there is none.
    pub(super) fn fleet(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(fleet) = &self.0.fleet else {
            return Ok(());
        };
        let workers = fleet.shared.workers();
        self.backlog(encoder)?;
        if let Some(used) = utilisation(&workers) {
            let help = "Jobs in hand of all that workers may have";
            let mut gauge =
                encoder.encode_descriptor("fleet_utilisation", help, None, MetricType::Gauge)?;
            gauge.encode_gauge(&used)?;
        }
        worker_gauges(encoder, &workers)?;
        worker_counters(encoder, &workers)?;
        self.dead_letters(encoder)?;
        parked(encoder, &fleet.shared.tally())
    }

    fn backlog(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Jobs that no worker has claimed";
        let mut family =
            encoder.encode_descriptor("fleet_backlog", help, None, MetricType::Gauge)?;
        for queue in self.0.queues() {
            family
                .encode_family(&[("deployment", &*queue.deployment)])?
                .encode_gauge(&i64::from(queue.waiting))?;
        }
        Ok(())
    }

    fn dead_letters(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Jobs archived as dead letters";
        let mut family =
            encoder.encode_descriptor("fleet_dead_letters", help, None, MetricType::Counter)?;
        for class in Class::ALL {
            family
                .encode_family(&[("class", class.as_str())])?
                .encode_counter::<NoLabelSet, _, u64>(&self.0.dead_letters.archived(class), None)?;
        }
        Ok(())
    }
}

fn worker_gauges(
    encoder: &mut DescriptorEncoder<'_>,
    workers: &[SeenWorker],
) -> Result<(), fmt::Error> {
    type Read = fn(&SeenWorker) -> f64;
    let gauges: [(&str, &str, Read); 2] = [
        ("fleet_resident_models", "Models that a worker holds", |w| {
            w.report.resident.len() as f64
        }),
        (
            "fleet_load_rate",
            "Models loaded a minute, over five minutes",
            |w| w.report.load_rate,
        ),
    ];
    for (name, help, read) in gauges {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for worker in workers {
            family
                .encode_family(&[("worker", &*worker.report.worker)])?
                .encode_gauge(&read(worker))?;
        }
    }
    Ok(())
}

fn worker_counters(
    encoder: &mut DescriptorEncoder<'_>,
    workers: &[SeenWorker],
) -> Result<(), fmt::Error> {
    type Read = fn(&SeenWorker) -> u64;
    let counters: [(&str, &str, Read); 3] = [
        ("fleet_model_loads", "Models loaded", |w| w.report.loads),
        ("fleet_evictions", "Models evicted", |w| w.report.evictions),
        ("fleet_jobs", "Jobs run, whatever came of it", |w| {
            w.report.jobs
        }),
    ];
    for (name, help, read) in counters {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for worker in workers {
            family
                .encode_family(&[("worker", &*worker.report.worker)])?
                .encode_counter::<NoLabelSet, _, u64>(&read(worker), None)?;
        }
    }
    Ok(())
}

/// The gateway's own signals, which never mix with the workers'.
fn parked(encoder: &mut DescriptorEncoder<'_>, tally: &FleetTally) -> Result<(), fmt::Error> {
    let gauges = [
        ("fleet_parked", "Requests that are parked", tally.parked),
        (
            "fleet_running",
            "Requests that a worker runs",
            tally.running,
        ),
        (
            "fleet_held_bytes",
            "Payload that is held, bytes",
            tally.held_bytes,
        ),
    ];
    for (name, help, value) in gauges {
        let mut gauge = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        gauge.encode_gauge(&i64::try_from(value).unwrap_or(i64::MAX))?;
    }
    let help = "Requests to the fleet by how they ended";
    let mut family =
        encoder.encode_descriptor("fleet_requests", help, None, MetricType::Counter)?;
    for result in FleetResult::ALL {
        family
            .encode_family(&[("result", result.as_str())])?
            .encode_counter::<NoLabelSet, _, u64>(&tally.of(result), None)?;
    }
    let help = "Calls of workers that were for nothing";
    let mut family =
        encoder.encode_descriptor("fleet_stale_calls", help, None, MetricType::Counter)?;
    let stale = [
        ("abandoned", tally.abandoned),
        ("superseded", tally.superseded),
        ("late", tally.late),
    ];
    for (reason, value) in stale {
        family
            .encode_family(&[("reason", reason)])?
            .encode_counter::<NoLabelSet, _, u64>(&value, None)?;
    }
    Ok(())
}
