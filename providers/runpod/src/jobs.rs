//! Queue endpoints for a router that knows HTTP alone: each request becomes a
//! job, and the job's output the response.
//!
//! The translator listens on loopback, for whoever holds its token. A `POST`
//! of JSON is a job; a `GET` is answered from the endpoint's health and makes
//! none. A client that leaves takes its job with it.

mod answer;
mod ask;
mod job;
mod openai;
mod pace;
mod service;
mod stream;

use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use sha2::{Digest, Sha256};
use thermocline_provider::{ProviderError, ProviderErrorKind};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::account::Account;
use crate::error::invalid;
use crate::settings::Settings;
use service::Service;

/// How long to wait when no connection can be accepted, for want of descriptors.
const ACCEPT_PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// The translator of one provider; it ends when dropped.
pub(crate) struct Translator {
    url: String,
    token: String,
    _end: DropGuard,
}

impl Translator {
    /// Starts it where the settings say.
    pub(crate) async fn start(
        account: &Arc<Account>,
        settings: &Settings,
    ) -> Result<Self, ProviderError> {
        if !settings.job_listen.ip().is_loopback() {
            return Err(invalid(
                "requests are turned into jobs on a loopback address alone",
            ));
        }
        let taken = |_| {
            let detail = "the address where requests are turned into jobs cannot be had";
            ProviderError::new(ProviderErrorKind::HostMisconfigured, detail)
        };
        let listener = TcpListener::bind(settings.job_listen)
            .await
            .map_err(taken)?;
        let url = format!("http://{}", listener.local_addr().map_err(taken)?);
        let token = token(&account.key);
        let end = CancellationToken::new();
        let service = Service::new(account.clone(), settings, token.clone())?;
        tokio::spawn(end.clone().run_until_cancelled_owned(accept(
            listener,
            Arc::new(service),
            end.clone(),
        )));
        Ok(Translator {
            url,
            token,
            _end: end.drop_guard(),
        })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What every request to it must carry.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }
}

/// A token that a process started later makes again, and from which the key cannot be told.
fn token(key: &str) -> String {
    let digest = Sha256::new()
        .chain_update("runpod translator ")
        .chain_update(key)
        .finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn accept(listener: TcpListener, service: Arc<Service>, end: CancellationToken) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            service.clock().sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (service, end) = (service.clone(), end.clone());
        tokio::spawn(async move { end.run_until_cancelled(connection(stream, service)).await });
    }
}

async fn connection(stream: TcpStream, service: Arc<Service>) {
    let _only_slower_without = stream.set_nodelay(true);
    let answer = service_fn(move |request| {
        let service = service.clone();
        async move { Ok::<_, std::convert::Infallible>(service.answer(request).await) }
    });
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
    let _client_left = served.await;
}
