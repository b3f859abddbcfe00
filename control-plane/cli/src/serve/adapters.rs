//! The providers that the configuration names, as adapters.

mod accounts;
mod config;
mod fleet;
mod key;
mod plugin;
mod runpod;
mod sim;
mod vast;

use std::path::Path;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use thermocline_broker::Broker;
use thermocline_clock::Clock;
use thermocline_docker::{DockerProvider, Limits};
use thermocline_fleet::Fleet;
use thermocline_policy::FLEET;
use thermocline_provider::Provider;
use thermocline_server::{Config, Redaction};
use tokio_util::sync::CancellationToken;

use super::layers::Implied;
use crate::failure::Failure;

pub(crate) use config::{DOCKER, Providers, read};
pub(crate) use sim::{sim_of_worker, sim_state_file};

use accounts::Accounts;
use config::ProviderConfig;

/// The kinds that exist by themselves.
pub(super) const IMPLIED: [Implied; 2] = [
    Implied {
        kind: "runpod",
        variable: runpod::KEY,
        address: "api_url",
    },
    Implied {
        kind: "vast",
        variable: vast::KEY,
        address: "base_url",
    },
];

/// A provider by name and kind.
pub(super) type Named = (String, &'static str, Arc<dyn Provider>);

/// Hints that something changed at a provider, by its name.
pub(super) type Hints = Vec<(String, BoxStream<'static, ()>)>;

/// What adapters are made with.
pub(super) struct Surroundings<'a> {
    /// Where process files are kept.
    pub(super) folder: &'a Path,
    pub(super) clock: &'a Clock,
    /// Ends what adapters keep running.
    pub(super) drain: &'a CancellationToken,
    /// Is told the keys.
    pub(super) redaction: &'a Redaction,
}

/// The Docker daemon's adapter; it may be absent, and come later.
pub(super) fn docker(config: &Config, clock: &Clock) -> Result<DockerProvider, Failure> {
    DockerProvider::connect(&config.docker, Limits::default(), clock.clone())
        .map_err(|error| Failure::mistake(format!("local.docker: {error}")))
}

/// The shared fleet, which is a provider as well.
pub(super) async fn fleet(
    config: &Config,
    broker: Arc<dyn Broker>,
    clock: &Clock,
    redaction: &Redaction,
) -> Result<(Arc<Fleet>, Named), Failure> {
    let fleet = Arc::new(fleet::adapter(&config.fleet, broker, clock, redaction).await?);
    let named = (
        FLEET.to_owned(),
        "fleet",
        fleet.clone() as Arc<dyn Provider>,
    );
    Ok((fleet, named))
}

/// Every configured provider. A simulated cloud's process is found again, or
/// started; a plugin's process is started and not waited for.
pub(super) async fn configured(
    providers: &Providers,
    with: &Surroundings<'_>,
) -> Result<(Vec<Named>, Hints), Failure> {
    let (mut named, mut hints) = (Vec::new(), Hints::new());
    let mut runpods = Accounts::default();
    let mut vasts = Accounts::default();
    for (name, provider) in providers {
        let (kind, adapter, hint): (_, Arc<dyn Provider>, _) = match provider {
            ProviderConfig::Sim(settings) => {
                let (folder, clock, drain) = (with.folder, with.clock, with.drain);
                let (sim, hint) = sim::supervised(name, settings, folder, clock, drain).await?;
                ("sim", Arc::new(sim), Some(hint))
            }
            ProviderConfig::Plugin(config) => {
                let (plugin, hint) = plugin::adapter(name, config, with)?;
                ("plugin", plugin, hint)
            }
            ProviderConfig::Runpod(config) => {
                let runpod = runpod::adapter(name, config, &mut runpods, with).await?;
                ("runpod", Arc::new(runpod), None)
            }
            ProviderConfig::Vast(config) => {
                let vast = vast::adapter(name, config, &mut vasts, with)?;
                ("vast", Arc::new(vast), None)
            }
        };
        named.push((name.clone(), kind, adapter));
        hints.extend(hint.map(|hint| (name.clone(), hint)));
    }
    Ok((named, hints))
}
