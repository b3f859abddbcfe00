//! The GPU types that Vast.ai knows, for rent just now or not.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;
use thermocline_policy::Moment;
use thermocline_provider::{Mistake, ProviderError, unknown_gpu};

use crate::account::Account;
use crate::call::Call;
use crate::pace::Lane;

/// How long the names are believed: they change with the market.
const FRESH: Duration = Duration::from_secs(3_600);

/// The names as they were read last, and when.
#[derive(Debug, Default)]
pub(crate) struct GpuNames(Mutex<Option<(Moment, Arc<[String]>)>>);

/// `GET /api/v0/gpu_names/unique`.
#[derive(Debug, Deserialize)]
struct Names {
    gpu_names: Vec<String>,
}

impl GpuNames {
    /// The mistakes among `words`, each a GPU that a specification names.
    pub(crate) async fn unknown(
        &self,
        account: &Account,
        words: &[String],
    ) -> Result<Vec<Mistake>, ProviderError> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let names = self.read(account).await?;
        let is_known = |word: &str| names.iter().any(|name| *name == word.replace('_', " "));
        let unknown = words.iter().enumerate().filter(|(_, word)| !is_known(word));
        let all = || names.iter().map(String::as_str);
        let mistakes = unknown.map(|(index, word)| unknown_gpu(index, word, "Vast.ai", all()));
        Ok(mistakes.collect())
    }

    async fn read(&self, account: &Account) -> Result<Arc<[String]>, ProviderError> {
        let now = account.clock.now();
        let known = self.lock().clone();
        if let Some((_, names)) = known.filter(|(read, _)| now.since(*read) < FRESH) {
            return Ok(names);
        }
        let call = Call {
            lane: Lane::Show,
            method: Method::GET,
            path: &["v0", "gpu_names", "unique"],
            query: &[],
            body: None,
        };
        let Names { gpu_names } = account.call(call).await?;
        let names: Arc<[String]> = gpu_names.into();
        *self.lock() = Some((now, names.clone()));
        Ok(names)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(Moment, Arc<[String]>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
