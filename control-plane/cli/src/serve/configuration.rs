use serde_json::Value;
use thermocline_policy::FieldErrors;
use thermocline_server::Config;

use super::adapters::{self, Providers};

/// The whole configuration: the server's own, and what adapters are told.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    pub(crate) server: Config,
    pub(crate) providers: Providers,
}

impl Configuration {
    /// Reads `thermocline.toml` as JSON; an empty object gives every default.
    ///
    /// # Errors
    /// Every mistake of both, each with its key and what is allowed.
    pub(crate) fn read(document: &Value) -> Result<Self, FieldErrors> {
        match (Config::read(document), adapters::read(document)) {
            (Ok(server), Ok(providers)) => Ok(Configuration { server, providers }),
            (server, providers) => {
                let mut errors = server.err().unwrap_or_default();
                errors.extend(providers.err().into_iter().flatten());
                Err(errors)
            }
        }
    }
}
