//! The adapter for provider plugins: any HTTP server that speaks version 1 of
//! the provider protocol.
//!
//! What a plugin answers is hostile input: it is bounded in size and in time,
//! redirects are not followed, and of a body that is not of the protocol
//! nothing gets into an error.

mod command;
mod error;
mod handshake;
mod output;
mod provider;
mod reply;
mod supervised;

use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder};
use thermocline_provider::{ProviderError, ProviderErrorKind};
use url::Url;

pub use command::CommandLine;
pub use supervised::{Launch, Launched, Supervised};

/// How long a call may take, its reply's body included.
const CALL_LIMIT: Duration = Duration::from_secs(10);
/// How long a create may take.
const CREATE_LIMIT: Duration = Duration::from_secs(60);
/// How long the connection may take, of either.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// A provider behind the plugin protocol.
pub struct PluginProvider {
    base: Url,
    bearer: Option<HeaderValue>,
    client: Client,
    call_limit: Duration,
    create_limit: Duration,
}

impl PluginProvider {
    /// The plugin at `url`, which is called with `token`; sends nothing yet.
    ///
    /// # Errors
    /// `invalid` when `url` is no http(s) URL with a host or `token` cannot
    /// stand in a header; `host_misconfigured` when this machine has no TLS.
    pub fn connect(url: &str, token: Option<String>) -> Result<Self, ProviderError> {
        let bearer = token.map(bearer).transpose()?;
        let client = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_LIMIT)
            .build()
            .map_err(|_| host_misconfigured())?;
        Ok(PluginProvider {
            base: base(url)?,
            bearer,
            client,
            call_limit: CALL_LIMIT,
            create_limit: CREATE_LIMIT,
        })
    }

    /// The same plugin with other limits on how long `call`s and `create` may take.
    #[must_use]
    pub fn with_limits(self, call: Duration, create: Duration) -> Self {
        PluginProvider {
            call_limit: call,
            create_limit: create,
            ..self
        }
    }

    /// A call of `/v1/` and `path` with `query`; each part is escaped.
    fn request(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<RequestBuilder, ProviderError> {
        if !path.iter().all(|part| is_segment(part)) {
            return Err(invalid("an instance's key or id is no path segment"));
        }
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| invalid("the plugin's URL cannot have a path"))?
            .pop_if_empty()
            .push("v1")
            .extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.client.request(method, url).timeout(self.call_limit);
        Ok(match &self.bearer {
            Some(bearer) => request.header(reqwest::header::AUTHORIZATION, bearer.clone()),
            None => request,
        })
    }
}

impl std::fmt::Debug for PluginProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PluginProvider").finish_non_exhaustive()
    }
}

fn base(url: &str) -> Result<Url, ProviderError> {
    let mut base = Url::parse(url).map_err(|_| invalid("the plugin's URL cannot be read"))?;
    if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
        return Err(invalid(
            "the plugin's URL must be http or https with a host",
        ));
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err(invalid("the plugin's URL must not hold credentials"));
    }
    base.set_query(None);
    base.set_fragment(None);
    Ok(base)
}

fn bearer(token: String) -> Result<HeaderValue, ProviderError> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| invalid("the plugin's token cannot stand in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Whether `part` arrives as it is when it is asked for: URLs leave dots and control
/// characters out, so another instance would be meant.
fn is_segment(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !part.contains(char::is_control)
}

fn invalid(detail: &str) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Invalid, detail)
}

fn host_misconfigured() -> ProviderError {
    let detail = "no TLS can be set up on this machine";
    ProviderError::new(ProviderErrorKind::HostMisconfigured, detail)
}
