use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder};
use thermocline_clock::Clock;
use thermocline_provider::{ProviderError, ProviderErrorKind};
use url::Url;

use crate::error::invalid;
use crate::limits::Limits;

/// How long the connection of a call may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// One account: its key, and the one limiter of all calls made with it.
pub struct Account {
    pub(crate) key: String,
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    api: Url,
    bearer: HeaderValue,
    limits: Mutex<Limits>,
}

impl Account {
    /// The account of `key` at `api_url` (`https://api.runpod.io`); sends nothing yet.
    ///
    /// # Errors
    /// `invalid` when the URL is no http(s) URL with a host or the key cannot
    /// stand in a header; `host_misconfigured` when this machine has no TLS.
    pub fn new(key: String, api_url: &str, clock: Clock) -> Result<Self, ProviderError> {
        let api = Url::parse(api_url).ok();
        let api = api.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let api = api.ok_or_else(|| invalid("the API's URL must be http or https with a host"))?;
        let unusable = |_| invalid("the API key cannot stand in a header");
        let mut bearer = HeaderValue::try_from(format!("Bearer {key}")).map_err(unusable)?;
        bearer.set_sensitive(true);
        let client = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .tcp_nodelay(true)
            .connect_timeout(CONNECT_LIMIT)
            .build()
            .map_err(|_| no_tls())?;
        Ok(Account {
            key,
            client,
            clock,
            api,
            bearer,
            limits: Mutex::default(),
        })
    }

    /// `request` with the key.
    pub(crate) fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        request.header(AUTHORIZATION, self.bearer.clone())
    }

    /// The URL of `path` below the API's version.
    pub(crate) fn url(&self, path: &[&str]) -> Result<Url, ProviderError> {
        let mut url = self.api.clone();
        url.path_segments_mut()
            .map_err(|()| invalid("the API's URL cannot have a path"))?
            .pop_if_empty()
            .push("v2")
            .extend(path);
        Ok(url)
    }

    pub(crate) fn limits(&self) -> MutexGuard<'_, Limits> {
        self.limits
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account").finish_non_exhaustive()
    }
}

fn no_tls() -> ProviderError {
    let detail = "no TLS can be set up on this machine";
    ProviderError::new(ProviderErrorKind::HostMisconfigured, detail)
}
