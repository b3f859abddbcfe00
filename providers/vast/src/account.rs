use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder};
use thermocline_clock::Clock;
use thermocline_provider::{ProviderError, ProviderErrorKind};
use url::Url;

use crate::error::invalid;
use crate::pace::{Lane, Pace};
use crate::settings::Spacing;

/// How long the connection of a call may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// One account: its key, and the one limiter of all calls made with it.
pub struct Account {
    pub(crate) key: String,
    pub(crate) clock: Clock,
    client: Client,
    base: Url,
    bearer: HeaderValue,
    pace: Mutex<Pace>,
    /// One call of a kind at a time.
    lanes: [tokio::sync::Mutex<()>; 5],
}

impl Account {
    /// The account of `key` at `base_url` (`https://console.vast.ai`); sends nothing yet.
    ///
    /// # Errors
    /// `invalid` when the URL is no http(s) URL with a host or the key cannot
    /// stand in a header; `host_misconfigured` when this machine has no TLS.
    pub fn new(
        key: String,
        base_url: &str,
        clock: Clock,
        spacing: Spacing,
    ) -> Result<Self, ProviderError> {
        let base = Url::parse(base_url).ok();
        let base = base.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let base = base.ok_or_else(|| invalid("base_url must be http or https with a host"))?;
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
            clock,
            client,
            base,
            bearer,
            pace: Mutex::new(Pace::new(spacing)),
            lanes: Default::default(),
        })
    }

    /// A request with the key to `path` below `/api`, with `query`.
    pub(crate) fn request(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<RequestBuilder, ProviderError> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| invalid("base_url cannot have a path"))?
            .pop_if_empty()
            .push("api")
            .extend(path)
            .push(""); // as the service's own clients write it
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.client.request(method, url);
        Ok(request.header(AUTHORIZATION, self.bearer.clone()))
    }

    /// Waits until a call of `lane` may be made; its turn ends with the value.
    ///
    /// # Errors
    /// `rate_limited` when too many wait already.
    pub(crate) async fn turn(&self, lane: Lane) -> Result<Turn<'_>, ProviderError> {
        let queued = self.pace().enqueue(lane, self.clock.now());
        queued.map_err(|wait| {
            let kind = ProviderErrorKind::RateLimited(Some(wait));
            ProviderError::new(kind, "too many calls wait for their turn")
        })?;
        let place = Place(self, lane);
        let alone = self.lanes[lane as usize].lock().await;
        let wait = self.pace().wait(lane, self.clock.now());
        if !wait.is_zero() {
            self.clock.sleep(wait).await;
        }
        self.pace().note(lane, self.clock.now());
        Ok(Turn {
            _alone: alone,
            place,
        })
    }

    pub(crate) fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call's turn.
pub(crate) struct Turn<'a> {
    place: Place<'a>,
    _alone: tokio::sync::MutexGuard<'a, ()>,
}

impl Turn<'_> {
    /// Notes that the call was answered.
    pub(crate) fn answered(self) {
        let Place(account, lane) = &self.place;
        account.pace().note(*lane, account.clock.now());
    }
}

/// A place in a queue, given back when dropped.
struct Place<'a>(&'a Account, Lane);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.pace().leave(self.1);
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
