use std::path::Path;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use thermocline_plugin::{CommandLine, PluginProvider, Supervised};
use thermocline_provider::Provider;
use thermocline_wire::reader::Object;

use super::super::source::Source;
use super::Surroundings;
use super::key::url;
use crate::failure::Failure;

type Adapter = (Arc<dyn Provider>, Option<BoxStream<'static, ()>>);

/// Keys of `kind = "plugin"`: where the adapter is, or how it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PluginConfig {
    /// It runs already.
    Url {
        /// Where it listens.
        url: String,
        /// The environment variable that holds its token.
        token_env: Option<String>,
    },
    /// It is started by us.
    Command(Vec<String>),
}

impl PluginConfig {
    pub(super) fn read(section: &Object<'_>) -> Option<Self> {
        let url = section.read("url", |value| url(value, &[]));
        let command = section.texts("command");
        let token_env = section.text("token_env");
        match (section.value("url"), section.value("command")) {
            (None, None) => section.wrong("url", "is required, or command"),
            (Some(_), Some(_)) => section.wrong("command", "excludes url"),
            (None, Some(_)) if token_env.is_some() => {
                let why = "is for url: a started plugin is given its token";
                section.wrong("token_env", why);
            }
            _ => {}
        }
        if command.as_ref().is_some_and(Vec::is_empty) {
            section.wrong("command", "must name a program");
        }
        match command {
            Some(command) => Some(PluginConfig::Command(command)),
            None => url.map(|url| PluginConfig::Url { url, token_env }),
        }
    }
}

/// The plugin `name`, by its URL or by the command that starts it.
pub(super) fn adapter(
    name: &str,
    config: &PluginConfig,
    with: &Surroundings<'_>,
) -> Result<Adapter, Failure> {
    match config {
        PluginConfig::Url { url, token_env } => {
            let token = token_env.as_deref().map(|it| token(name, it)).transpose()?;
            token.iter().for_each(|token| with.redaction.hide(token));
            let plugin = PluginProvider::connect(url, token)
                .map_err(|error| Failure::mistake(format!("providers.{name}.url: {error}")))?;
            Ok((Arc::new(plugin), None))
        }
        PluginConfig::Command(words) => {
            let missing = |why: &str| Failure::mistake(format!("providers.{name}.command: {why}"));
            let command = CommandLine::new(name, words).ok_or_else(|| missing("is empty"))?;
            if !words.first().is_some_and(|program| can_be_found(program)) {
                return Err(missing("there is no such program"));
            }
            let plugin = Supervised::start(name, command, with.clock.clone(), with.drain.clone());
            let starts = plugin.starts().boxed();
            Ok((Arc::new(plugin), Some(starts)))
        }
    }
}

fn token(name: &str, variable: &str) -> Result<String, Failure> {
    let token = Source::Variable(variable).read();
    token.map_err(|what| Failure::mistake(format!("providers.{name}.token_env: {what}")))
}

/// Whether `program` is a file, or stands in a folder of `PATH`.
fn can_be_found(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
