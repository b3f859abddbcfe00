//! The providers that the configuration names, as adapters.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thermocline_clock::Clock;
use thermocline_docker::{DockerProvider, Limits};
use thermocline_plugin::PluginProvider;
use thermocline_provider::Provider;
use thermocline_server::{Config, PluginConfig, ProviderConfig, SimConfig};

use crate::failure::Failure;

/// A provider by name and kind.
pub(super) type Named = (String, &'static str, Arc<dyn Provider>);

/// The Docker daemon's adapter; it may be absent, and come later.
pub(super) fn docker(config: &Config, clock: &Clock) -> Result<DockerProvider, Failure> {
    DockerProvider::connect(&config.docker, Limits::default(), clock.clone())
        .map_err(|error| Failure::mistake(format!("local.docker: {error}")))
}

/// Every configured provider. A simulated cloud's process is found again, or started.
pub(super) async fn configured(config: &Config, folder: &Path) -> Result<Vec<Named>, Failure> {
    let mut named = Vec::new();
    for (name, provider) in &config.providers {
        let (kind, adapter) = match provider {
            ProviderConfig::Sim(sim_config) => ("sim", sim(name, sim_config, folder).await?),
            ProviderConfig::Plugin(plugin_config) => ("plugin", plugin(name, plugin_config)?),
        };
        named.push((name.clone(), kind, Arc::new(adapter) as Arc<dyn Provider>));
    }
    Ok(named)
}

/// Where the process of the simulated cloud `name` can be found.
pub(crate) fn sim_state_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("thermocline-sim-{name}.json"))
}

async fn sim(name: &str, config: &SimConfig, folder: &Path) -> Result<PluginProvider, Failure> {
    let settings = thermocline_sim::Settings {
        pod_boot: config.pod_boot,
        cold_start: config.cold_start,
        service_time: config.service_time,
        usd_per_hour: config.usd_per_hour,
        usd_per_second: config.usd_per_second,
        capacity: config.capacity,
    };
    let fault = |error: std::io::Error| Failure::fault(format!("providers.{name}: {error}"));
    let program = std::env::current_exe().map_err(fault)?;
    let file = sim_state_file(folder, name);
    let endpoint = thermocline_sim::ensure_running(&program, &["sim"], &file, &settings)
        .await
        .map_err(fault)?;
    PluginProvider::connect(&endpoint.url, Some(endpoint.token))
        .map_err(|error| Failure::fault(format!("providers.{name}: {error}")))
}

fn plugin(name: &str, config: &PluginConfig) -> Result<PluginProvider, Failure> {
    let token = match &config.token_env {
        None => None,
        Some(variable) => Some(std::env::var(variable).map_err(|_| {
            Failure::mistake(format!("providers.{name}.token_env: {variable} is not set"))
        })?),
    };
    PluginProvider::connect(&config.url, token)
        .map_err(|error| Failure::mistake(format!("providers.{name}.url: {error}")))
}
