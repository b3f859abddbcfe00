//! Where instances are reached: the pod proxy, and the edge of load-balancing
//! endpoints. Each instance has a loopback address of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::endpoints::Endpoint;
use crate::service::{Service, address};
use crate::worker::{Asked, Image};

/// The port of every load-balancing endpoint.
pub(crate) const ENDPOINT_PORT: u16 = 8_000;
/// The largest body, bytes.
const LARGEST: usize = 30_000_000;

/// Opens the proxy of `port` of the pod `id`, until its `life` ends.
pub(crate) fn open_pod(service: Arc<Service>, id: &str, port: u16, life: &CancellationToken) {
    let pod = id.to_owned();
    open(id, port, life, move |request| {
        let (service, pod) = (service.clone(), pod.clone());
        async move { proxied(&service, &pod, request).await }
    });
}

/// Opens the edge of `endpoint`, until its life ends.
pub(crate) fn open_endpoint(service: Arc<Service>, endpoint: &Arc<Endpoint>) {
    let (id, life) = (endpoint.id.clone(), endpoint.life.clone());
    let endpoint = endpoint.clone();
    open(&id, ENDPOINT_PORT, &life, move |request| {
        let (service, endpoint) = (service.clone(), endpoint.clone());
        async move { balanced(&service, &endpoint, request).await }
    });
}

fn open<F, A>(id: &str, port: u16, life: &CancellationToken, answer: F)
where
    F: Fn(Request) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response> + Send + 'static,
{
    let socket = SocketAddr::from((address(id), port));
    let listening = std::net::TcpListener::bind(socket).and_then(|listener| {
        listener.set_nonblocking(true)?;
        TcpListener::from_std(listener)
    });
    let Ok(listener) = listening else {
        return; // nobody listens there: the proxy cannot reach it
    };
    let (app, life) = (Router::new().fallback(answer), life.clone());
    tokio::spawn(async move {
        let served = axum::serve(listener, app);
        life.run_until_cancelled(served.into_future()).await
    });
}

async fn proxied(service: &Arc<Service>, id: &str, request: Request) -> Response {
    let now = service.clock.now();
    let image = {
        let state = service.lock();
        let pod = state
            .pods
            .get(id)
            .filter(|pod| pod.listens(now, &service.settings));
        pod.map(|pod| {
            let checks = pod.env("FAKE_CHECKS_SECRET").is_some();
            let secret = pod.env("THERMOCLINE_BACKEND_SECRET").filter(|_| checks);
            image(service, id, secret.map(str::to_owned))
        })
    };
    let Some(image) = image else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let silent = now + service.settings.proxy_silence;
    match service
        .clock
        .timeout_at(silent, pass_on(&image, request))
        .await
    {
        Ok(response) => response,
        Err(_) => StatusCode::from_u16(524)
            .unwrap_or_default()
            .into_response(),
    }
}

async fn balanced(service: &Arc<Service>, endpoint: &Endpoint, request: Request) -> Response {
    let expected = format!("Bearer {}", service.key);
    let given = request.headers().get("authorization");
    if given.is_none_or(|value| value != expected.as_str()) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let now = service.clock.now();
    endpoint.used(now);
    let pinged = request.uri().path() == "/ping";
    let give_up = match pinged && endpoint.fleet.count().0 == 0 {
        true => now, // answered at once, and a worker is on its way
        false => now + service.settings.no_worker_after,
    };
    if give_up == now {
        wake(service, endpoint);
        return StatusCode::NO_CONTENT.into_response();
    }
    let place = service
        .clock
        .timeout_at(give_up, endpoint.fleet.acquire(service))
        .await;
    let Ok(_place) = place else {
        let status = StatusCode::from_u16(service.settings.no_worker_status).unwrap_or_default();
        let body = axum::Json(json!({ "error": "no workers available" }));
        return (status, body).into_response();
    };
    pass_on(&image(service, &endpoint.id, None), request).await
}

/// What a worker of a queue endpoint answers by itself.
pub(crate) async fn as_worker(
    service: &Arc<Service>,
    endpoint: &Endpoint,
    request: Request,
) -> Response {
    endpoint.used(service.clock.now());
    let _place = endpoint.fleet.acquire(service).await;
    pass_on(&image(service, &endpoint.id, None), request).await
}

/// Starts a worker that nobody waits for.
fn wake(service: &Arc<Service>, endpoint: &Endpoint) {
    if endpoint.fleet.booting() > 0 {
        return;
    }
    let (service, fleet, life) = (
        service.clone(),
        endpoint.fleet.clone(),
        endpoint.life.clone(),
    );
    tokio::spawn(async move {
        let up = async { drop(fleet.acquire(&service).await) };
        life.run_until_cancelled(up).await
    });
}

fn image(service: &Service, id: &str, secret: Option<String>) -> Image {
    Image {
        clock: service.clock.clone(),
        service_time: service.settings.service_time,
        secret,
        id: id.to_owned(),
    }
}

async fn pass_on(image: &Image, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LARGEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let asked = Asked {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body,
    };
    image.answer(asked).await
}
