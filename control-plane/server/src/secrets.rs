//! Secrets of deployments: sealed in the store, written and never read back by
//! people, opened for the instance that is being made.
//!
//! The values are in memory as long as the process lives: what providers and
//! adapters say is searched for them before anybody reads it.

mod address;
mod edit;
mod key;
mod redaction;
mod seal;
mod sealed;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thermocline_store::{SecretRow, Store, StoreError};
use thiserror::Error;

pub(crate) use edit::{named, no_such_secret};
pub use key::{KeyOrigin, SecretKey};
pub use redaction::Redaction;
use seal::Sealer;

/// Why secrets cannot be used; nothing was changed.
#[derive(Debug, Error)]
pub enum SecretError {
    /// The store's.
    #[error("the store cannot be used")]
    Store(#[from] StoreError),
    /// The operator's: the key was lost, or is elsewhere.
    #[error(
        "the store holds {0} sealed secrets, and the key that opens them is not there; \
         put it back, or set THERMOCLINE_SECRETS_KEY"
    )]
    KeyMissing(usize),
    /// The operator's: this is another store's key, or the row was changed.
    #[error("the key does not open the secret {0}; the key that sealed it is needed")]
    WrongKey(String),
    /// The operator's: what should be a key is none.
    #[error("a key is 32 bytes in base64")]
    BadKey,
    /// The machine's: the file of the key can be neither read nor written.
    #[error("the file of the key cannot be used: {}", .0.kind())]
    KeyFile(#[from] std::io::Error),
}

/// The secrets of one store.
pub struct Secrets {
    origin: KeyOrigin,
    /// None until the first secret is set, where no key was there.
    sealer: Mutex<Option<Arc<Sealer>>>,
    known: Mutex<BTreeMap<String, Secret>>,
    redaction: Redaction,
}

#[derive(Clone)]
struct Secret {
    value: Arc<str>,
    created_at: i64,
    updated_at: i64,
}

impl Secrets {
    /// The secrets of `store`, each opened with the key at `origin`; their
    /// values are hidden by `redaction` from now on.
    ///
    /// # Errors
    /// Every [`SecretError`]; the store and the key's file are as they were.
    pub async fn open(
        store: &Store,
        origin: KeyOrigin,
        redaction: Redaction,
    ) -> Result<Self, SecretError> {
        let rows = store.secrets().await?;
        let sealer = origin.read()?.map(|key| Sealer::new(&key)).transpose()?;
        let mut known = BTreeMap::new();
        if let Some(sealer) = &sealer {
            for row in rows {
                let (name, secret) = opened(sealer, row)?;
                redaction.hide(&secret.value);
                known.insert(name, secret);
            }
        } else if !rows.is_empty() {
            return Err(SecretError::KeyMissing(rows.len()));
        }
        Ok(Secrets {
            origin,
            sealer: Mutex::new(sealer.map(Arc::new)),
            known: Mutex::new(known),
            redaction,
        })
    }

    /// What hides their values.
    pub(crate) fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    /// Whether there is a secret of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.known().contains_key(name)
    }

    /// The value of a secret, for the instance that is being made.
    pub(crate) fn value(&self, name: &str) -> Option<Arc<str>> {
        self.known().get(name).map(|secret| secret.value.clone())
    }

    /// `value` as the store may keep it; makes the key where none is there yet.
    fn seal(&self, name: &str, value: &str) -> Result<Vec<u8>, SecretError> {
        let mut sealer = self.sealer.lock().unwrap_or_else(PoisonError::into_inner);
        let sealer = match &*sealer {
            Some(sealer) => sealer.clone(),
            None => {
                let made = Arc::new(Sealer::new(&self.origin.make()?)?);
                sealer.insert(made).clone()
            }
        };
        sealer.seal(name, value)
    }

    /// What opens what is sealed, where there is a key.
    fn sealer(&self) -> Option<Arc<Sealer>> {
        let sealer = self.sealer.lock().unwrap_or_else(PoisonError::into_inner);
        sealer.clone()
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Secret>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn opened(sealer: &Sealer, row: SecretRow) -> Result<(String, Secret), SecretError> {
    let Some(value) = sealer.open(&row.name, &row.sealed) else {
        return Err(SecretError::WrongKey(row.name));
    };
    let secret = Secret {
        value: value.into(),
        created_at: row.created_at,
        updated_at: row.updated_at,
    };
    Ok((row.name, secret))
}

#[cfg(test)]
mod tests;
