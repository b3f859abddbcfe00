//! Where an account's key is, and its API.

use std::path::PathBuf;

use serde_json::Value;
use thermocline_server::Redaction;
use thermocline_wire::reader::{Object, text};

use super::super::source::Source;
use crate::failure::Failure;

/// Where a key is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeySource {
    /// An environment variable.
    Env(String),
    /// A file.
    File(PathBuf),
}

impl KeySource {
    /// `api_key_env` or `api_key_file`; `variable` when neither is there.
    pub(super) fn read(section: &Object<'_>, variable: &str) -> Self {
        let (env, file) = (section.text("api_key_env"), section.text("api_key_file"));
        if env.is_some() && file.is_some() {
            section.wrong("api_key_file", "excludes api_key_env");
        }
        match file {
            Some(file) => KeySource::File(file.into()),
            None => KeySource::Env(env.unwrap_or_else(|| variable.to_owned())),
        }
    }

    /// Where the key of the provider `name` is, for people.
    pub(super) fn origin(&self, name: &str) -> String {
        match self {
            KeySource::Env(variable) => variable.clone(),
            KeySource::File(_) => format!("the file of providers.{name}.api_key_file"),
        }
    }

    /// The key, for the provider `name`; `redaction` hides it.
    ///
    /// # Errors
    /// A mistake of the configuration when there is none.
    pub(super) fn key(&self, name: &str, redaction: &Redaction) -> Result<String, Failure> {
        let (field, source) = match self {
            KeySource::Env(variable) => ("api_key_env", Source::Variable(variable)),
            KeySource::File(file) => ("api_key_file", Source::File(file)),
        };
        let wrong = |what| Failure::mistake(format!("providers.{name}.{field}: {what}"));
        let key = source.read().map_err(wrong)?;
        redaction.hide(&key);
        Ok(key)
    }
}

/// An http(s) URL that holds every one of `places`.
pub(super) fn url(value: &Value, places: &[&str]) -> Result<String, String> {
    let url = text(value)?;
    if !["http://", "https://"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
    {
        return Err("must be http:// or https://".to_owned());
    }
    match places.iter().find(|place| !url.contains(*place)) {
        Some(missing) => Err(format!("must hold {missing}")),
        None => Ok(url),
    }
}
