//! Where the key of the secrets is.

use std::path::PathBuf;

use thermocline_server::{Config, KeyOrigin, Redaction, SecretError, SecretKey, Secrets};
use thermocline_store::Store;

use crate::failure::Failure;

/// The variable that holds the key itself.
const KEY: &str = "THERMOCLINE_SECRETS_KEY";

/// Opens the secrets of `store`; nothing is changed.
///
/// # Errors
/// What keeps them closed, and what to do about it.
pub(super) async fn open(
    config: &Config,
    store: &Store,
    redaction: Redaction,
) -> Result<Secrets, Failure> {
    let given = std::env::var(KEY).ok().filter(|key| !key.trim().is_empty());
    let place = match (&given, &config.secrets_key_file) {
        (Some(_), _) => KEY,
        (None, Some(_)) => "secrets.key_file",
        (None, None) => "the secrets' key beside the store",
    };
    let failure = |error: SecretError| match error {
        SecretError::BadKey => Failure::mistake(format!("{place}: {error}")),
        error => Failure::fault(format!("{place}: {error}")),
    };
    if let Some(key) = &given {
        redaction.hide(key);
    }
    let origin = origin(config, given.as_deref()).map_err(failure)?;
    Secrets::open(store, origin, redaction)
        .await
        .map_err(failure)
}

fn origin(config: &Config, given: Option<&str>) -> Result<KeyOrigin, SecretError> {
    let beside = || config.store_url.strip_prefix("sqlite://");
    if let Some(key) = given {
        return SecretKey::from_base64(key).map(KeyOrigin::Given);
    }
    Ok(match (&config.secrets_key_file, beside()) {
        (Some(file), _) => KeyOrigin::File(PathBuf::from(file)),
        (None, Some(store)) => KeyOrigin::File(PathBuf::from(format!("{store}.key"))),
        (None, None) => KeyOrigin::Memory,
    })
}
