//! What the image answers at an instance's port.

use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::service::Service;

/// The header in which an image expects the secret that it was started with.
const SECRET: &str = "x-thermocline-backend-secret";
/// The largest body, bytes.
const LARGEST: usize = 30_000_000;

/// Opens `port`, any when 0, for the instance `id` until its `life` ends; which
/// it is. `None` when it cannot be had.
pub(crate) fn open(
    service: &Arc<Service>,
    id: u64,
    port: u16,
    life: &CancellationToken,
) -> Option<u16> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?;
    let port = listener.local_addr().ok()?.port();
    listener.set_nonblocking(true).ok()?;
    let listener = TcpListener::from_std(listener).ok()?;
    let (service, life) = (service.clone(), life.clone());
    let app = Router::new().fallback(move |request: Request| {
        let service = service.clone();
        async move { answer(&service, id, request).await }
    });
    tokio::spawn(async move {
        let served = axum::serve(listener, app);
        life.run_until_cancelled(served.into_future()).await
    });
    Some(port)
}

async fn answer(service: &Service, id: u64, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let mut said = match heard(service, id, &head) {
        Ok(said) => said,
        Err(refused) => return refused.into_response(),
    };
    let Ok(body) = to_bytes(body, LARGEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    said["received"] = body.len().into();
    service.clock.sleep(service.settings.service_time).await;
    Json(said).into_response()
}

/// What was asked, unless nobody listens or the secret is missing.
fn heard(service: &Service, id: u64, head: &Parts) -> Result<Value, (StatusCode, &'static str)> {
    let now = service.clock.now();
    let state = service.lock();
    let instance = state.instances.get(&id);
    let instance = instance
        .filter(|it| it.listens(now, &service.settings))
        .ok_or((StatusCode::SERVICE_UNAVAILABLE, "nobody listens\n"))?;
    let text = |name: &str| head.headers.get(name).and_then(|it| it.to_str().ok());
    let checks = instance.env.contains_key("FAKE_CHECKS_SECRET");
    let secret = instance.env.get("THERMOCLINE_BACKEND_SECRET");
    if checks && secret.map(String::as_str) != text(SECRET) {
        return Err((StatusCode::UNAUTHORIZED, "the secret is missing\n"));
    }
    Ok(json!({
        "instance": id, "method": head.method.as_str(), "path": head.uri.path(),
        "host": text(header::HOST.as_str()),
    }))
}
