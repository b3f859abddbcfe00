use serde_json::Value;
use thermocline_policy::FieldErrors;
use thermocline_server::Config;

use super::adapters::{self, Providers};
use crate::worker::{self, WorkerConfig};

/// The whole configuration: the server's own, and what adapters are told.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    pub(crate) server: Config,
    pub(crate) providers: Providers,
    /// The shared fleet's worker in this process, if it is to have one.
    pub(crate) worker: Option<WorkerConfig>,
}

impl Configuration {
    /// Reads `thermocline.toml` as JSON; an empty object gives every default.
    ///
    /// # Errors
    /// Every mistake of all, each with its key and what is allowed.
    pub(crate) fn read(document: &Value) -> Result<Self, FieldErrors> {
        let server = Config::read(document);
        let (providers, worker) = (adapters::read(document), worker::read(document));
        match (server, providers, worker) {
            (Ok(server), Ok(providers), Ok(worker)) => Ok(Configuration {
                server,
                providers,
                worker,
            }),
            (server, providers, worker) => {
                let mut errors = server.err().unwrap_or_default();
                errors.extend(providers.err().into_iter().flatten());
                errors.extend(worker.err().into_iter().flatten());
                Err(errors)
            }
        }
    }
}
