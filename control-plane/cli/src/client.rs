//! The admin REST API, as the verbs call it.

use std::time::Duration;

use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, Url, redirect};
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::document::Document;
use crate::failure::Failure;
use crate::problem::Problem;

/// The longest that one call may take, except for streams.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(30);
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Why a call brought no answer that a verb can use.
#[derive(Debug, Error)]
pub(crate) enum CallError {
    /// Nobody listens there; worth trying again.
    #[error("cannot reach the server at {0}; is `thermocline serve` running?")]
    Unreachable(Url),
    /// It did not answer in time; worth trying again.
    #[error("the server at {0} did not answer in time")]
    TimedOut(Url),
    /// The connection ended within the answer; worth trying again.
    #[error("the connection to {0} broke")]
    Broken(Url),
    /// Something else answers there, or another version; trying again does not help.
    #[error("{0} does not answer as an admin plane of this version")]
    NotOurs(Url),
    /// The server declined.
    #[error("the server answered {}", .0.status())]
    Declined(Problem),
}

impl CallError {
    /// Whether the same call may succeed later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            CallError::Unreachable(_) | CallError::TimedOut(_) | CallError::Broken(_) => true,
            CallError::NotOurs(_) => false,
            CallError::Declined(problem) => problem.is_passing(),
        }
    }

    /// Whether the server says that there is no such thing.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, CallError::Declined(problem) if problem.status() == 404)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Declined(problem) => problem.into(),
            CallError::TimedOut(_) => Failure::timeout(error.to_string()),
            _ => Failure::fault(error.to_string()),
        }
    }
}

/// A server and the right to ask it.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    server: Url,
}

impl Client {
    /// A client of `server`; nothing is sent yet.
    ///
    /// # Errors
    /// Usage, when the token cannot stand in a header; a fault, when this
    /// machine's certificates cannot be read.
    pub(crate) fn new(server: Url, token: Option<&str>) -> Result<Self, Failure> {
        let http = reqwest::Client::builder()
            .user_agent(concat!("thermocline/", env!("CARGO_PKG_VERSION")))
            .default_headers(credentials(token)?)
            .connect_timeout(CONNECT_LIMIT)
            .tcp_keepalive(CALL_LIMIT)
            .redirect(redirect::Policy::none()) // the token is for this server alone
            .build()
            .map_err(|_| Failure::fault("cannot set up TLS on this machine"))?;
        Ok(Client { http, server })
    }

    /// Where the server is.
    pub(crate) fn server(&self) -> &Url {
        &self.server
    }

    /// `GET /api/v1/PATH`.
    pub(crate) async fn get(&self, path: &[&str]) -> Result<Document, CallError> {
        self.call(self.api(Method::GET, path, &[])).await
    }

    /// `GET /api/v1/PATH?QUERY`.
    pub(crate) async fn get_where(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Document, CallError> {
        self.call(self.api(Method::GET, path, query)).await
    }

    /// `GET /api/v1/PATH`, page after page.
    pub(crate) async fn get_all(&self, path: &[&str]) -> Result<Document, CallError> {
        self.get_all_where(path, &[]).await
    }

    /// `GET /api/v1/PATH?QUERY`, page after page.
    pub(crate) async fn get_all_where(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Document, CallError> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let cursors = cursor.iter().map(|at| ("cursor", at.as_str()));
            let query: Vec<_> = query.iter().copied().chain(cursors).collect();
            let page = self.get_where(path, &query).await?;
            items.extend(page.items());
            match page.next() {
                None => return Ok(Document::list(items)),
                next if next == cursor => return Err(self.not_ours()),
                next => cursor = next,
            }
        }
    }

    /// `PUT /api/v1/PATH`.
    pub(crate) async fn put(
        &self,
        path: &[&str],
        body: &serde_json::Value,
    ) -> Result<Document, CallError> {
        self.call(self.api(Method::PUT, path, &[]).json(body)).await
    }

    /// `POST /api/v1/PATH` without a body.
    pub(crate) async fn post(&self, path: &[&str]) -> Result<Document, CallError> {
        self.call(self.api(Method::POST, path, &[])).await
    }

    /// `POST /api/v1/PATH`.
    pub(crate) async fn post_with(
        &self,
        path: &[&str],
        body: &serde_json::Value,
    ) -> Result<Document, CallError> {
        self.call(self.api(Method::POST, path, &[]).json(body))
            .await
    }

    /// `DELETE /api/v1/PATH`.
    pub(crate) async fn delete(&self, path: &[&str]) -> Result<Document, CallError> {
        self.call(self.api(Method::DELETE, path, &[])).await
    }

    /// Whether `GET /PATH`, outside the API, answers with a 2xx.
    pub(crate) async fn probe(&self, path: &str) -> Result<(), CallError> {
        let request = self.http.get(self.url(&[path])).timeout(CALL_LIMIT);
        self.send(request).await.map(drop)
    }

    /// `GET /api/v1/events` from behind `last_id`; it lasts as long as both sides like.
    pub(crate) async fn events(&self, last_id: Option<&str>) -> Result<Response, CallError> {
        let url = self.url(&["api", "v1", "events"]);
        let mut request = self
            .http
            .get(url)
            .header(header::ACCEPT, "text/event-stream");
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        self.send(request).await
    }

    /// `document` as a verb reads it.
    pub(crate) fn view<T: DeserializeOwned>(&self, document: &Document) -> Result<T, CallError> {
        document.view().map_err(|_| self.not_ours())
    }

    fn api(&self, method: Method, path: &[&str], query: &[(&str, &str)]) -> RequestBuilder {
        let mut url = self.url(&[&["api", "v1"], path].concat());
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.http.request(method, url).timeout(CALL_LIMIT)
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.server.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    async fn call(&self, request: RequestBuilder) -> Result<Document, CallError> {
        let response = self.send(request).await?;
        let body = response.bytes().await.map_err(|e| self.transport(&e))?;
        if body.is_empty() {
            return Ok(Document::EMPTY);
        }
        Document::from_json(&body).map_err(|_| self.not_ours())
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, CallError> {
        let response = request.send().await.map_err(|e| self.transport(&e))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.to_owned();
        let body = response.bytes().await.unwrap_or_default();
        Err(CallError::Declined(Problem::new(status, &kind, &body)))
    }

    /// What a transport's error means to the user.
    pub(crate) fn transport(&self, error: &reqwest::Error) -> CallError {
        let server = self.server.clone();
        if error.is_connect() {
            CallError::Unreachable(server)
        } else if error.is_timeout() {
            CallError::TimedOut(server)
        } else {
            CallError::Broken(server)
        }
    }

    fn not_ours(&self) -> CallError {
        CallError::NotOurs(self.server.clone())
    }
}

fn credentials(token: Option<&str>) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    if let Some(token) = token.map(str::trim).filter(|token| !token.is_empty()) {
        let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| {
            Failure::usage(vec!["the token holds characters that no token has".into()])
        })?;
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    Ok(headers)
}
