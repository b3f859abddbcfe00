use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use thermocline_clock::Clock;
use thermocline_plugin::{Launch, Launched, Supervised};
use thermocline_sim::Settings;
use thermocline_wire::reader::Object;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// Where the process of the simulated cloud `name` can be found.
pub(crate) fn sim_state_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("thermocline-sim-{name}.json"))
}

/// The simulated cloud `name`: its process is found or started now, and again
/// whenever it ends.
pub(super) async fn supervised(
    name: &str,
    settings: &Settings,
    folder: &Path,
    clock: &Clock,
    drain: &CancellationToken,
) -> Result<(Supervised, BoxStream<'static, ()>), Failure> {
    let fault = |error: io::Error| Failure::fault(format!("providers.{name}: {error}"));
    let process = SimProcess {
        program: std::env::current_exe().map_err(fault)?,
        file: sim_state_file(folder, name),
        settings: *settings,
        clock: clock.clone(),
    };
    let running = process.launch().await.map_err(fault)?;
    let sim = Supervised::continued(name, process, Some(running), clock.clone(), drain.clone());
    let starts = sim.starts().boxed();
    Ok((sim, starts))
}

/// The simulated cloud that a worker of the shared fleet has to itself, as its
/// node: what it holds is bounded by the worker's memory alone.
pub(crate) async fn sim_of_worker(
    worker: &str,
    folder: &Path,
    clock: &Clock,
    drain: &CancellationToken,
) -> Result<Supervised, Failure> {
    let settings = Settings {
        capacity: 10_000,
        ..Settings::default()
    };
    let name = format!("worker-{worker}");
    let (sim, _starts) = supervised(&name, &settings, folder, clock, drain).await?;
    Ok(sim)
}

/// Keys of `kind = "sim"`.
pub(super) fn read(section: &Object<'_>) -> Settings {
    let usual = Settings::default();
    let time = |key, usual| section.duration(key).unwrap_or(usual);
    Settings {
        pod_boot: time("pod_boot", usual.pod_boot),
        cold_start: time("cold_start", usual.cold_start),
        service_time: time("service_time", usual.service_time),
        usd_per_hour: section.number("usd_per_hour").unwrap_or(usual.usd_per_hour),
        usd_per_second: section
            .number("usd_per_second")
            .unwrap_or(usual.usd_per_second),
        capacity: section
            .whole("capacity", 0..=100_000)
            .unwrap_or(usual.capacity),
    }
}

/// The process of a simulated cloud, which belongs to nobody.
struct SimProcess {
    program: PathBuf,
    file: PathBuf,
    settings: Settings,
    clock: Clock,
}

#[async_trait]
impl Launch for SimProcess {
    async fn launch(&self) -> io::Result<Launched> {
        let (program, settings) = (&self.program, &self.settings);
        let endpoint =
            thermocline_sim::ensure_running(program, &["sim"], &self.file, settings).await?;
        let (watched, clock) = (endpoint.clone(), self.clock.clone());
        Ok(Launched {
            url: endpoint.url,
            token: Some(endpoint.token),
            begins_anew: true, // what exists is in that process's memory
            end: async move {
                thermocline_sim::ended(&watched, &clock).await;
                "it does not answer any more".to_owned()
            }
            .boxed(),
        })
    }
}
