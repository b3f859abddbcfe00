//! Calls of the control API.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thermocline_policy::Moment;
use thermocline_provider::cloud::retry_after;
use thermocline_provider::{ProviderError, ProviderErrorKind};

use crate::account::Account;
use crate::error::{malformed, refused};
use crate::limits::Admission;

/// How long a call may take, its reply's body included.
const CALL_LIMIT: Duration = Duration::from_secs(15);
/// How long a create may take.
const CREATE_LIMIT: Duration = Duration::from_secs(50);
/// The longest body that is read, bytes.
const LONGEST_BODY: usize = 8 << 20;

/// Why a call did not do what it should.
pub(crate) struct Failed {
    pub(crate) error: ProviderError,
    /// Whether it may have been obeyed all the same.
    pub(crate) doubtful: bool,
}

impl From<Failed> for ProviderError {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

impl From<ProviderError> for Failed {
    fn from(error: ProviderError) -> Self {
        Failed {
            doubtful: !error.before_effect(),
            error,
        }
    }
}

impl Account {
    /// GET of a list or of one thing that is there.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ProviderError> {
        let body = self.call(Method::GET, path, query, None).await?;
        serde_json::from_slice(&body).map_err(|_| malformed())
    }

    /// GET of one thing; `None` when RunPod does not know it.
    pub(crate) async fn find<T: DeserializeOwned>(
        &self,
        path: &[&str],
    ) -> Result<Option<T>, ProviderError> {
        match self.call(Method::GET, path, &[], None).await {
            Ok(body) => serde_json::from_slice(&body)
                .map(Some)
                .map_err(|_| malformed()),
            Err(failed) if failed.is_absence() => Ok(None),
            Err(failed) => Err(failed.error),
        }
    }

    /// POST or PATCH; what it made or changed.
    pub(crate) async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: &Value,
    ) -> Result<T, Failed> {
        let answer = self.call(method, path, &[], Some(body)).await?;
        serde_json::from_slice(&answer).map_err(|_| malformed().into())
    }

    /// DELETE; false when RunPod does not know it.
    pub(crate) async fn remove(&self, path: &[&str]) -> Result<bool, ProviderError> {
        match self.call(Method::DELETE, path, &[], None).await {
            Ok(_) => Ok(true),
            Err(failed) if failed.is_absence() => Ok(false),
            Err(failed) => Err(failed.error),
        }
    }

    /// The body of a successful answer.
    async fn call(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Vec<u8>, Refused> {
        self.await_turn(method != Method::GET).await?;
        let limit = if method == Method::POST {
            CREATE_LIMIT
        } else {
            CALL_LIMIT
        };
        let mut url = self.url(path)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self
            .authorized(self.client.request(method, url))
            .timeout(limit);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| unanswered(&error))?;
        let (now, status) = (self.clock.now(), response.status());
        self.learn(response.headers(), now);
        let wait = retry_after(response.headers()).or_else(|| self.limits().longest_exhausted(now));
        let body = whole(response).await?;
        match status.is_success() {
            true => Ok(body),
            false => Err(Refused {
                status: status.as_u16(),
                error: refused(status.as_u16(), &body, wait, &self.key),
                doubtful: status.is_server_error() || status.is_redirection(),
            }),
        }
    }

    /// Waits until the account's limits let a call through.
    async fn await_turn(&self, urgent: bool) -> Result<(), ProviderError> {
        let admission = self.limits().admit(urgent, self.clock.now());
        match admission {
            Admission::After(wait) if wait.is_zero() => Ok(()),
            Admission::After(wait) => {
                self.clock.sleep(wait).await;
                Ok(())
            }
            Admission::Refused(wait) => Err(ProviderError::new(
                ProviderErrorKind::RateLimited(Some(wait)),
                "the account's calls are used up for now",
            )),
        }
    }

    fn learn(&self, headers: &HeaderMap, now: Moment) {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(limit) = text("ratelimit") {
            let policy = text("ratelimit-policy").unwrap_or_default();
            self.limits().learn(limit, policy, now);
        }
    }
}

/// A call that was not answered with success.
struct Refused {
    /// 0 when there was no answer.
    status: u16,
    error: ProviderError,
    doubtful: bool,
}

impl Refused {
    fn is_absence(&self) -> bool {
        self.status == 404
    }
}

impl From<ProviderError> for Refused {
    fn from(error: ProviderError) -> Self {
        let doubtful = !error.before_effect();
        Refused {
            status: 0,
            error,
            doubtful,
        }
    }
}

impl From<Refused> for Failed {
    fn from(refused: Refused) -> Self {
        Failed {
            error: refused.error,
            doubtful: refused.doubtful,
        }
    }
}

impl From<Refused> for ProviderError {
    fn from(refused: Refused) -> Self {
        refused.error
    }
}

/// There is no answer; its cause names no address.
fn unanswered(error: &reqwest::Error) -> Refused {
    use ProviderErrorKind::{Unanswered, Unreachable};
    let (kind, detail) = match () {
        () if error.is_connect() => (Unreachable, "RunPod cannot be reached"),
        () if error.is_timeout() => (Unanswered, "RunPod did not answer in time"),
        () => (Unanswered, "the connection to RunPod broke"),
    };
    ProviderError::new(kind, detail).into()
}

async fn whole(mut response: Response) -> Result<Vec<u8>, Refused> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unanswered(&error))? {
        if body.len() + chunk.len() > LONGEST_BODY {
            return Err(malformed().into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
