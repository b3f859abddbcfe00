//! The API, and what goes wrong with it.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::{Json, Router};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::faults::{BodyFault, names, take};
use crate::market::{Ask, gpu_names, search};
use crate::no::No;
use crate::service::Service;
use crate::spacing::lane;

/// The largest body of a call, bytes.
const LARGEST: usize = 1_000_000;

/// One call.
struct Call {
    method: String,
    path: Vec<String>,
    query: String,
    body: Value,
}

/// `https://console.vast.ai` of the fake.
pub(crate) fn routes(service: Arc<Service>) -> Router {
    Router::new().fallback(answer).with_state(service)
}

async fn answer(State(service): State<Arc<Service>>, request: Request) -> Response {
    let (method, path) = (request.method().to_string(), split(request.uri().path()));
    if let Some(refused) = stranger(&service, request.headers(), &path) {
        return refused;
    }
    if let Some(refused) = too_early(&service, &method, &path) {
        return refused;
    }
    let query = request.uri().query().unwrap_or_default().to_owned();
    let Ok(body) = to_bytes(request.into_body(), LARGEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let call = Call {
        method,
        path,
        query,
        body,
    };
    obeyed(&service, &call)
}

/// With and without a slash at its end.
fn split(path: &str) -> Vec<String> {
    let parts = path.trim_matches('/').split('/');
    parts.map(str::to_owned).collect()
}

/// The refusal of a key that does not count.
fn stranger(service: &Service, headers: &HeaderMap, path: &[String]) -> Option<Response> {
    let expected = format!("Bearer {}", service.key);
    let given = headers.get(header::AUTHORIZATION);
    let known = given.is_some_and(|value| value == expected.as_str());
    if known && !service.lock().faults.revoked {
        return None;
    }
    let searches = path.last().is_some_and(|last| last == "bundles");
    let status = if searches { 404 } else { 401 };
    Some(No::new(status, "auth_error", "Invalid user key").into_response())
}

/// Counts a call; its refusal when it comes too early.
fn too_early(service: &Service, method: &str, path: &[String]) -> Option<Response> {
    let (now, lane) = (service.clock.now(), lane(method, path));
    let mut state = service.lock();
    state.calls.push(format!("{method} /{}", path.join("/")));
    let in_time = !service.settings.spaced || state.spacing.admit(lane, now);
    let odd = state.calls.len() % 2 == 1;
    if in_time && !take(&mut state.faults.rate_limited) {
        return None;
    }
    let words = format!(
        "API requests too frequent: endpoint threshold={:.1}",
        lane.1
    );
    let status = StatusCode::TOO_MANY_REQUESTS;
    let mut response = match odd {
        true => (status, words).into_response(),
        false => (status, Json(json!({ "detail": words }))).into_response(),
    };
    if let Some(seconds) = state.faults.retry_after {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    Some(response)
}

fn obeyed(service: &Arc<Service>, call: &Call) -> Response {
    let broken = || No::new(500, "server_error", "internal error").into_response();
    let writes = ["PUT", "DELETE"].contains(&call.method.as_str());
    if writes && take(&mut service.lock().faults.fail_before) {
        return broken();
    }
    let answer = route(service, call);
    if writes && answer.is_ok() {
        let faults = &mut service.lock().faults;
        if take(&mut faults.fail_after) {
            return broken();
        }
        if take(&mut faults.cut_after) {
            return cut();
        }
    }
    let fault = service.lock().faults.body.filter(|_| !writes);
    match (answer, fault) {
        (_, Some(fault)) => spoiled(fault),
        (Ok(body), None) => Json(body).into_response(),
        (Err(no), None) => no.into_response(),
    }
}

fn route(service: &Arc<Service>, call: &Call) -> Result<Value, No> {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().map_err(|_| No::invalid_args("'id'"));
    match (call.method.as_str(), path.as_slice()) {
        ("POST", ["api", "v0", "bundles"]) => offers(service, &call.body),
        ("GET", ["api", "v0", "gpu_names", "unique"]) => {
            Ok(json!({ "success": true, "gpu_names": gpu_names() }))
        }
        ("PUT", ["api", "v0", "asks", id]) => service.rent(number(id)?, &call.body),
        ("GET", ["api", "v1", "instances"]) => page(service, &call.query),
        ("GET", ["api", "v0", "instances", id]) => service.instance(number(id)?),
        ("DELETE", ["api", "v0", "instances", id]) => service.destroy(number(id)?),
        _ => Err(No::new(404, "not_found", "no such path")),
    }
}

fn offers(service: &Service, query: &Value) -> Result<Value, No> {
    let state = service.lock();
    let out = &state.faults.no_stock;
    let asks = state.asks.iter().filter(|ask| !names(out, ask.gpu.name));
    let asks: Vec<Ask> = asks.cloned().collect();
    match search(query, &asks) {
        Ok(found) => Ok(json!({ "success": true, "offers": found, "truncated": false })),
        Err(mistake) => Err(No::invalid_args(&mistake)),
    }
}

fn page(service: &Service, query: &str) -> Result<Value, No> {
    let number = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.find(|(key, _)| *key == name)?;
        value.parse::<u64>().ok()
    };
    let (limit, after) = (number("limit"), number("after_token"));
    if limit.is_some_and(|limit| limit > 25) {
        return Err(No::invalid_args("'limit' must be at most 25"));
    }
    let limit = limit.map_or(25, |limit| limit as usize);
    service.page(after.unwrap_or(0), limit.min(service.settings.page))
}

/// A reply that breaks off.
fn cut() -> Response {
    let pieces = [
        Ok(Bytes::from_static(b"{\"success\":true,")),
        Err(std::io::Error::other("cut off on request")),
    ];
    Body::from_stream(futures_util::stream::iter(pieces)).into_response()
}

fn spoiled(fault: BodyFault) -> Response {
    match fault {
        BodyFault::Malformed => "{\"instances\":[{\"id\":".into_response(),
        BodyFault::WrongType => Json(json!({ "instances": 7, "offers": "none" })).into_response(),
        BodyFault::Huge => vec![b'['; 40 << 20].into_response(),
        BodyFault::Html => {
            (StatusCode::BAD_GATEWAY, Html("<html>502 sentinel</html>")).into_response()
        }
        BodyFault::Empty => StatusCode::OK.into_response(),
        BodyFault::Slow => {
            let never = futures_util::stream::pending::<Result<Bytes, Infallible>>();
            Body::from_stream(never).into_response()
        }
    }
}
