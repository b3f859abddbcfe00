//! What is done to the configured store itself.

use thermocline_store::{Store, StoreError};

use crate::args::{Backup, Configured};
use crate::failure::Failure;
use crate::output;
use crate::serve::read_config;

/// Brings the store's tables up to this version.
pub(crate) async fn migrate(args: &Configured) -> Result<(), Failure> {
    open(args).await?.close().await;
    output::note("the store is up to date");
    Ok(())
}

/// Copies the store into a new file.
pub(crate) async fn backup(args: &Backup) -> Result<(), Failure> {
    let store = open(&args.configured).await?;
    let copied = store.backup(&args.file).await;
    store.close().await;
    match copied {
        Ok(()) => Ok(()),
        Err(StoreError::BackupExists) => {
            Err(Failure::refused(vec!["the file exists already".to_owned()]))
        }
        Err(error) => Err(store_failure("the backup cannot be written", &error)),
    }
}

async fn open(args: &Configured) -> Result<Store, Failure> {
    let config = read_config(args.config.as_deref())?;
    Store::open(&config.store_url)
        .await
        .map_err(|error| store_failure("store.url", &error))
}

/// What the operator reads of a store that does not do what it should: also
/// what the machine said, since it is theirs.
pub(crate) fn store_failure(what: &str, error: &StoreError) -> Failure {
    match std::error::Error::source(error) {
        Some(source) => Failure::fault(format!("{what}: {error}: {source}")),
        None => Failure::fault(format!("{what}: {error}")),
    }
}
