//! How many workers endpoints may have: what they are to have, and what the platform
//! changes behind our back. One that nobody used for days has its most workers
//! lowered, at last to none.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_policy::Moment;
use thermocline_provider::ProviderError;

use crate::account::Account;
use crate::id::usable;
use crate::said::Thing;

/// Between two repairs of one endpoint.
const PAUSE: Duration = Duration::from_secs(60);

/// How many workers endpoints are to have at most, as far as this process was told,
/// and when each was repaired last.
#[derive(Debug, Default)]
pub(crate) struct Sizes(Mutex<HashMap<String, Size>>);

#[derive(Debug, Clone, Copy)]
struct Size {
    max_workers: u32,
    repaired: Option<Moment>,
}

impl Sizes {
    /// Notes how many workers the endpoint `id` is to have at most.
    pub(crate) fn wish(&self, id: &str, max_workers: u32) {
        let size = Size {
            max_workers: max_workers.max(1),
            repaired: None,
        };
        self.lock().insert(id.to_owned(), size);
    }

    /// Forgets an endpoint that is to go.
    pub(crate) fn forget(&self, id: &str) {
        self.lock().remove(id);
    }

    /// Gives `endpoint` the most workers that it is to have, where it has others.
    ///
    /// # Errors
    /// What RunPod refuses, or that it cannot be asked.
    pub(crate) async fn set(
        &self,
        account: &Account,
        endpoint: &Thing,
    ) -> Result<(), ProviderError> {
        let Some((id, min, max)) = self.wrong(endpoint) else {
            return Ok(());
        };
        let body = json!({ "workers": { "min": min, "max": max } });
        let path = ["serverless", id];
        match account.write::<Value>(Method::PATCH, &path, &body).await {
            Ok(_) => Ok(()),
            Err(failed) => Err(failed.error),
        }
    }

    /// Mends `endpoint` where RunPod has changed its most workers.
    pub(crate) async fn mend(&self, account: &Account, endpoint: &Thing) {
        let Some((id, _, max)) = self.wrong(endpoint) else {
            return;
        };
        if !self.is_due(id, account.clock.now()) {
            return;
        }
        match self.set(account, endpoint).await {
            Ok(()) => tracing::warn!(endpoint = id, max, "its most workers had changed; mended"),
            Err(error) => {
                tracing::warn!(endpoint = id, %error, "its most workers could not be mended");
            }
        }
    }

    /// The bounds that `endpoint` should have, when it has not.
    fn wrong<'e>(&self, endpoint: &'e Thing) -> Option<(&'e str, u32, u32)> {
        let (id, is) = (usable(&endpoint.id)?, endpoint.workers?);
        let wanted = self.lock().get(id)?.max_workers;
        (is.max != wanted).then_some((id, is.min.min(wanted), wanted))
    }

    fn is_due(&self, id: &str, now: Moment) -> bool {
        let mut sizes = self.lock();
        let size = sizes.get_mut(id);
        size.is_some_and(|size| {
            let due = size.repaired.is_none_or(|at| now.since(at) >= PAUSE);
            if due {
                size.repaired = Some(now);
            }
            due
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Size>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
