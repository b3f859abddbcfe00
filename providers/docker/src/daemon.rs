//! The way to the daemon.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bollard::errors::Error;
use bollard::{API_DEFAULT_VERSION, Docker};
use thermocline_clock::Clock;
use thermocline_provider::{ProviderError, ProviderErrorKind};

use crate::fault::Fault;

/// The client's own limit, seconds: above every limit of ours, which are kept
/// by our clock.
const CLIENT_TIMEOUT_S: u64 = 2 * 60 * 60;

/// A daemon that may come and go; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    endpoint: Endpoint,
    clock: Clock,
    /// The client that agreed on a version with the daemon that is up now.
    client: Arc<Mutex<Option<Docker>>>,
}

#[derive(Debug, Clone)]
enum Endpoint {
    Unix(Arc<str>),
    Tcp(Arc<str>),
}

impl Daemon {
    /// The daemon at `endpoint`; nothing is asked yet.
    ///
    /// # Errors
    /// `Invalid` unless it is `unix:///…` or `tcp://host:port`.
    pub(crate) fn at(endpoint: &str, clock: Clock) -> Result<Self, ProviderError> {
        let endpoint = match endpoint.split_once("://") {
            Some(("unix", path)) if path.starts_with('/') => Endpoint::Unix(path.into()),
            Some(("tcp" | "http", host)) if !host.is_empty() => Endpoint::Tcp(host.into()),
            _ => {
                let detail = "the Docker endpoint must be unix:///… or tcp://host:port";
                return Err(ProviderError::new(ProviderErrorKind::Invalid, detail));
            }
        };
        Ok(Daemon {
            endpoint,
            clock,
            client: Arc::default(),
        })
    }

    /// The clock that limits are kept by.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// One request to the daemon.
    ///
    /// A daemon that fails to answer may be another one when it is back, so
    /// the version is agreed on anew then.
    pub(crate) async fn ask<T, F>(&self, request: impl FnOnce(Docker) -> F) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let client = self.client().await?;
        let answer = request(client).await.map_err(Fault::from);
        if answer.as_ref().is_err_and(|fault| !fault.is_answer()) {
            self.remember(None);
        }
        answer
    }

    /// `work`, or an error when it takes longer than `limit`.
    pub(crate) async fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let deadline = self.clock.now() + limit;
        let answer = self.clock.timeout_at(deadline, work).await;
        answer.unwrap_or_else(|_| Err(silent(limit)))
    }

    async fn client(&self) -> Result<Docker, Fault> {
        if let Some(client) = self.known() {
            return Ok(client);
        }
        let client = self.endpoint.client()?.negotiate_version().await?;
        self.remember(Some(client.clone()));
        Ok(client)
    }

    fn known(&self) -> Option<Docker> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.clone()
    }

    fn remember(&self, client: Option<Docker>) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }
}

impl Endpoint {
    fn client(&self) -> Result<Docker, Error> {
        match self {
            Endpoint::Unix(path) => {
                Docker::connect_with_unix(path, CLIENT_TIMEOUT_S, API_DEFAULT_VERSION)
            }
            Endpoint::Tcp(host) => {
                Docker::connect_with_http(host, CLIENT_TIMEOUT_S, API_DEFAULT_VERSION)
            }
        }
    }
}

fn silent(limit: Duration) -> ProviderError {
    let detail = format!("the Docker daemon did not answer within {limit:?}");
    ProviderError::new(ProviderErrorKind::Unavailable, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_and_plain_tcp_are_taken() {
        for endpoint in ["unix:///run/docker.sock", "tcp://127.0.0.1:2375"] {
            assert!(Daemon::at(endpoint, Clock::system()).is_ok());
        }
        for endpoint in [
            "",
            "unix://",
            "unix://docker.sock",
            "ssh://me@there",
            "tcp://",
        ] {
            let refused = Daemon::at(endpoint, Clock::system()).unwrap_err();
            assert_eq!(refused.kind, ProviderErrorKind::Invalid);
        }
    }
}
