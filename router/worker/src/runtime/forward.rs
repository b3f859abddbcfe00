//! Requests to a model's server, over HTTP/1.1 on this node.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use http_body_util::{BodyDataStream, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use thermocline_clock::Clock;
use thermocline_provider::Address;

use super::{RunRequest, RunResponse};

/// Headers of one connection, not of the message (RFC 9110 §7.6.1), and those
/// that say how long a body is: its own length does.
const OF_THE_HOP: [HeaderName; 11] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// How long a status may take that is asked for.
const STATUS_LIMIT: Duration = Duration::from_secs(10);

/// No answer, or none that is HTTP.
#[derive(Debug)]
pub(super) struct NoAnswer;

/// Why a status that was asked for is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoStatus {
    /// Nobody listens, or it is no HTTP.
    Refused,
    /// Somebody listens and says nothing.
    Silent,
}

/// The one client for everything that runs here; connections are kept.
#[derive(Clone)]
pub(super) struct Forward {
    client: Client<HttpConnector, Full<Bytes>>,
    clock: Clock,
}

impl Forward {
    pub(super) fn new(clock: Clock) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Forward { client, clock }
    }

    /// Sends `request` to `address`, up to the response's head.
    pub(super) async fn send(
        &self,
        address: &Address,
        request: RunRequest,
    ) -> Result<RunResponse, NoAnswer> {
        let request = addressed(address, request).ok_or(NoAnswer)?;
        let response = self.client.request(request).await.map_err(|_| NoAnswer)?;
        Ok(received(response))
    }

    /// The status of `GET path`, in [`STATUS_LIMIT`].
    pub(super) async fn status(&self, address: &Address, path: &str) -> Result<u16, NoStatus> {
        let target = if path.is_empty() { "/" } else { path };
        let request = RunRequest {
            method: http::Method::GET,
            target: target.parse().map_err(|_| NoStatus::Refused)?,
            headers: HeaderMap::new(),
            payload: Bytes::new(),
        };
        let deadline = self.clock.now() + STATUS_LIMIT;
        let asked = self.clock.timeout_at(deadline, self.send(address, request));
        let response = asked.await.map_err(|_| NoStatus::Silent)?;
        Ok(response.map_err(|_| NoStatus::Refused)?.status.as_u16())
    }
}

fn addressed(address: &Address, request: RunRequest) -> Option<Request<Full<Bytes>>> {
    let base: Uri = address.url.parse().ok()?;
    let path = request.target.path_and_query();
    let path = path.map_or("/", PathAndQuery::as_str);
    let prefix = base.path().trim_end_matches('/');
    let uri = Uri::builder()
        .scheme(base.scheme().cloned().unwrap_or(Scheme::HTTP))
        .authority(base.authority().map(Authority::as_str)?)
        .path_and_query(format!("{prefix}{path}"))
        .build()
        .ok()?;
    let mut headers = end_to_end(request.headers);
    if address.own_host {
        headers.remove(header::HOST);
    }
    for (name, value) in &address.headers {
        let name: HeaderName = name.parse().ok()?;
        headers.insert(name, HeaderValue::from_str(value).ok()?);
    }
    let mut sent = Request::new(Full::new(request.payload));
    *sent.method_mut() = request.method;
    *sent.uri_mut() = uri;
    *sent.headers_mut() = headers;
    Some(sent)
}

fn received(response: Response<Incoming>) -> RunResponse {
    let (head, body) = response.into_parts();
    let length = head.headers.get(header::CONTENT_LENGTH).cloned();
    let mut headers = end_to_end(head.headers);
    headers.extend(length.map(|length| (header::CONTENT_LENGTH, length)));
    let pieces = BodyDataStream::new(body);
    RunResponse {
        status: head.status,
        headers,
        body: Box::pin(pieces.map(|piece| piece.map_err(std::io::Error::other))),
    }
}

/// `headers` without those of the hop and those that `connection` names.
pub(crate) fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in OF_THE_HOP.iter().chain(&named) {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_the_hop_and_what_connection_names_stays_here() {
        let pairs = [
            ("connection", "x-secret, keep-alive"),
            ("x-secret", "1"),
            ("content-length", "9"),
            ("proxy-connection", "keep-alive"),
            ("x-kept", "1"),
        ];
        let headers = pairs.map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        let kept = end_to_end(headers.into_iter().collect());
        assert_eq!(kept.len(), 1);
        assert!(kept.contains_key("x-kept"));
    }

    #[test]
    fn a_request_goes_below_the_addresss_path_with_its_headers() {
        let address = Address {
            url: "http://127.0.0.1:9/base/".into(),
            headers: [("x-key".to_owned(), "k".to_owned())].into(),
            own_host: true,
            remaining: false,
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("sdxl.example.com"));
        let request = RunRequest {
            method: http::Method::POST,
            target: "/infer?q=1".parse().unwrap(),
            headers,
            payload: Bytes::new(),
        };
        let sent = addressed(&address, request).unwrap();
        assert_eq!(sent.uri(), "http://127.0.0.1:9/base/infer?q=1");
        assert_eq!(sent.headers()["x-key"], "k");
        assert!(!sent.headers().contains_key(header::HOST));
    }
}
