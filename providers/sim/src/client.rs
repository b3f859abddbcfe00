//! Calls to a cloud's process, from the process that looks for it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use thermocline_clock::Clock;
use thermocline_wire::provider::{Capabilities, PROTOCOL};
use tokio::net::TcpStream;

use crate::api::NAME;
use crate::rendezvous::Endpoint;
use crate::settings::Settings;

/// How long a call may take.
const LIMIT: Duration = Duration::from_secs(2);
/// The longest reply that is read, bytes.
const LONGEST: usize = 64 << 10;

/// Whether a simulated cloud answers there.
pub(crate) async fn answers(endpoint: &Endpoint) -> bool {
    let Ok(reply) = call(endpoint, Method::GET, "/v1/capabilities", Bytes::new()).await else {
        return false;
    };
    let said = serde_json::from_slice::<Capabilities>(&reply);
    said.is_ok_and(|said| said.protocol == PROTOCOL && said.name == NAME)
}

/// How often a running cloud is asked whether it still answers.
const LOOK: Duration = Duration::from_millis(500);
/// Looks without an answer, in a row, that mean its end.
const LOOKS: u32 = 2;

/// Ends when the cloud at `endpoint` answers no more.
pub async fn ended(endpoint: &Endpoint, clock: &Clock) {
    let mut silences = 0;
    while silences < LOOKS {
        clock.sleep(LOOK).await;
        silences = match answers(endpoint).await {
            true => 0,
            false => silences + 1,
        };
    }
}

/// Gives the cloud new settings.
pub(crate) async fn configure(endpoint: &Endpoint, settings: &Settings) -> io::Result<()> {
    let body = serde_json::to_vec(settings)?.into();
    call(endpoint, Method::PUT, "/v1/settings", body).await?;
    Ok(())
}

/// Asks the cloud's process to end.
pub(crate) async fn stop(endpoint: &Endpoint) -> io::Result<()> {
    call(endpoint, Method::POST, "/v1/stop", Bytes::new()).await?;
    Ok(())
}

/// The body of a successful answer.
async fn call(endpoint: &Endpoint, method: Method, path: &str, body: Bytes) -> io::Result<Bytes> {
    let called = tokio::time::timeout(LIMIT, exchange(endpoint, method, path, body)).await;
    let (status, body) = called??;
    match status.is_success() {
        true => Ok(body),
        false => Err(io::Error::other(format!(
            "the simulated cloud answered {status}"
        ))),
    }
}

async fn exchange(
    endpoint: &Endpoint,
    method: Method,
    path: &str,
    body: Bytes,
) -> io::Result<(StatusCode, Bytes)> {
    let socket = loopback(&endpoint.url)?;
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, socket.to_string())
        .header(AUTHORIZATION, format!("Bearer {}", endpoint.token))
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(body))
        .map_err(io::Error::other)?;
    let stream = TokioIo::new(TcpStream::connect(socket).await?);
    let (mut sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
    tokio::spawn(connection); // ends when the sender is dropped
    let response = sender
        .send_request(request)
        .await
        .map_err(io::Error::other)?;
    let status = response.status();
    let body = Limited::new(response.into_body(), LONGEST).collect().await;
    Ok((status, body.map_err(io::Error::other)?.to_bytes()))
}

/// The socket of `url`; the token never leaves this machine.
fn loopback(url: &str) -> io::Result<SocketAddr> {
    let socket = url
        .strip_prefix("http://")
        .and_then(|socket| socket.parse().ok());
    socket
        .filter(|socket: &SocketAddr| socket.ip().is_loopback())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no loopback address"))
}
