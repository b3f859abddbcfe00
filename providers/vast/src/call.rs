//! Calls of the API.

use std::time::Duration;

use reqwest::{Method, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thermocline_provider::cloud::retry_after;
use thermocline_provider::{ProviderError, ProviderErrorKind as Kind};

use crate::account::Account;
use crate::error::{No, malformed};
use crate::pace::{Lane, threshold};

/// How long a call may take, its reply's body included.
const CALL_LIMIT: Duration = Duration::from_secs(20);
/// How long a create may take.
const CREATE_LIMIT: Duration = Duration::from_secs(50);
/// The longest body that is read, bytes.
const LONGEST_BODY: usize = 8 << 20;

/// Why a call did not do what it should.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: ProviderError,
    /// Whether it may have been obeyed all the same.
    pub(crate) doubtful: bool,
    /// The instance that was made all the same.
    pub(crate) contract: Option<u64>,
    absent: bool,
}

impl Failed {
    fn doubtful(error: ProviderError) -> Self {
        Failed {
            doubtful: true,
            ..error.into()
        }
    }
}

impl From<ProviderError> for Failed {
    fn from(error: ProviderError) -> Self {
        Failed {
            error,
            doubtful: false,
            contract: None,
            absent: false,
        }
    }
}

impl From<Failed> for ProviderError {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

/// One call.
pub(crate) struct Call<'c> {
    pub(crate) lane: Lane,
    pub(crate) method: Method,
    /// Below `/api`.
    pub(crate) path: &'c [&'c str],
    pub(crate) query: &'c [(&'c str, &'c str)],
    pub(crate) body: Option<&'c Value>,
}

impl Account {
    /// What a call is answered with.
    pub(crate) async fn call<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Failed> {
        let body = self.obeyed(call).await?;
        serde_json::from_slice(&body).map_err(|_| Failed::doubtful(malformed()))
    }

    /// The same of something that may not be there; `None` when the service does
    /// not know it.
    pub(crate) async fn find<T: DeserializeOwned>(
        &self,
        call: Call<'_>,
    ) -> Result<Option<T>, ProviderError> {
        match self.call(call).await {
            Ok(found) => Ok(Some(found)),
            Err(failed) if failed.absent => Ok(None),
            Err(failed) => Err(failed.error),
        }
    }

    /// The body of a successful answer.
    async fn obeyed(&self, call: Call<'_>) -> Result<Vec<u8>, Failed> {
        let turn = self.turn(call.lane).await?;
        let limit = match call.lane {
            Lane::Create => CREATE_LIMIT,
            _ => CALL_LIMIT,
        };
        let request = self.request(call.method, call.path, call.query)?;
        let mut request = request.timeout(limit);
        if let Some(body) = call.body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| unanswered(&error))?;
        let (status, named) = (response.status().as_u16(), retry_after(response.headers()));
        let body = whole(response).await?;
        let answer = match No::read(status, &body) {
            None => Ok(body),
            Some(no) => Err(self.refused(call.lane, &no, named)),
        };
        // Whoever waits for the lane waits by what was just refused.
        turn.answered();
        answer
    }

    fn refused(&self, lane: Lane, no: &No, named: Option<Duration>) -> Failed {
        let kind = match no.kind() {
            Kind::RateLimited(_) => {
                let now = self.clock.now();
                let threshold = threshold(&no.words);
                let silence = self.pace().refused(lane, threshold, named, now);
                Kind::RateLimited(Some(silence))
            }
            kind => kind,
        };
        Failed {
            error: no.error(kind, &self.key),
            doubtful: no.is_doubtful(),
            contract: no.contract,
            absent: no.is_absence(),
        }
    }
}

/// There is no answer; its cause names no address.
fn unanswered(error: &reqwest::Error) -> Failed {
    match () {
        () if error.is_connect() => {
            ProviderError::new(Kind::Unreachable, "Vast.ai cannot be reached").into()
        }
        () if error.is_timeout() => unheard("Vast.ai did not answer in time"),
        () => unheard("the connection to Vast.ai broke"),
    }
}

fn unheard(detail: &str) -> Failed {
    Failed::doubtful(ProviderError::new(Kind::Unanswered, detail))
}

async fn whole(mut response: Response) -> Result<Vec<u8>, Failed> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unanswered(&error))? {
        if body.len() + chunk.len() > LONGEST_BODY {
            return Err(Failed::doubtful(malformed()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
