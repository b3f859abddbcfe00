//! The control API, the job API, and what goes wrong with them.

mod pages;
mod routes;

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::{Json, Router};
use bytes::Bytes;
use serde_json::Value;

use crate::edge;
use crate::endpoints::Endpoint;
use crate::faults::{BodyFault, take};
use crate::problem::Problem;
use crate::service::Service;

/// The largest body of `/run` and of `/runsync`, bytes.
const LARGEST: [usize; 2] = [10_000_000, 20_000_000];

/// One call.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: Vec<String>,
    pub(crate) query: String,
    pub(crate) body: Value,
}

/// What a call is answered with: a status, and JSON where it has any.
pub(crate) type Answer = Result<(StatusCode, Option<Value>), Problem>;

/// `https://api.runpod.io` of the fake.
pub(crate) fn control(service: Arc<Service>) -> Router {
    Router::new().fallback(answer_control).with_state(service)
}

/// `https://api.runpod.ai` of the fake.
pub(crate) fn jobs(service: Arc<Service>) -> Router {
    Router::new().fallback(answer_jobs).with_state(service)
}

async fn answer_control(State(service): State<Arc<Service>>, request: Request) -> Response {
    let (mut response, serial) = guarded(&service, request).await;
    let now = service.clock.now();
    service.lock().limits.tell(now, response.headers_mut());
    if let Ok(id) = HeaderValue::from_str(&format!("req-{serial}")) {
        response.headers_mut().insert("x-request-id", id);
    }
    response
}

async fn guarded(service: &Arc<Service>, request: Request) -> (Response, usize) {
    if !knows(service, &request) {
        return (Problem::new(401, "missing bearer token").into_response(), 0);
    }
    let called = format!("{} {}", request.method(), request.uri().path());
    let serial = {
        let mut state = service.lock();
        state.calls.push(called);
        state.calls.len()
    };
    if let Some(refused) = limited(service) {
        return (refused, serial);
    }
    let call = match read(request, LARGEST[0]).await {
        Ok(call) => call,
        Err(problem) => return (problem.into_response(), serial),
    };
    let writes = call.method != Method::GET;
    if writes && take(&mut service.lock().faults.fail_before) {
        return (
            Problem::new(500, "internal server error").into_response(),
            serial,
        );
    }
    let answer = routes::control(service, &call).await;
    if writes && answer.is_ok() {
        let mut state = service.lock();
        if take(&mut state.faults.fail_after) {
            return (
                Problem::new(500, "internal server error").into_response(),
                serial,
            );
        }
        if take(&mut state.faults.cut_after) {
            return (cut(), serial);
        }
    }
    let fault = service.faults().body.filter(|_| !writes);
    (spoiled(written(answer), fault), serial)
}

fn knows(service: &Service, request: &Request) -> bool {
    let given = request.headers().get(header::AUTHORIZATION);
    let expected = format!("Bearer {}", service.key);
    given.is_some_and(|value| value == expected.as_str()) && !service.faults().revoked
}

/// 429, when a window is used up or a fault says so.
fn limited(service: &Service) -> Option<Response> {
    let now = service.clock.now();
    let mut state = service.lock();
    let (window, wait) = match state.limits.count(now) {
        Err((window, left)) => (window, Some(left.as_secs().max(1))),
        Ok(()) if take(&mut state.faults.rate_limited) => ("minute", state.faults.retry_after),
        Ok(()) => return None,
    };
    let text = format!("rate limit exceeded for the {window} window");
    let mut response = Problem::new(429, &text).into_response();
    if let Some(wait) = wait {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, wait.into());
    }
    Some(response)
}

async fn read(request: Request, largest: usize) -> Result<Call, Problem> {
    let (head, body) = request.into_parts();
    let too_large = |_| Problem::new(413, "payload too large");
    let body = to_bytes(body, largest).await.map_err(too_large)?;
    let body = match body.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&body).map_err(|_| Problem::new(400, "malformed JSON"))?,
    };
    let path = head.uri.path().trim_matches('/').split('/');
    Ok(Call {
        method: head.method,
        path: path.map(str::to_owned).collect(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        body,
    })
}

async fn answer_jobs(State(service): State<Arc<Service>>, request: Request) -> Response {
    if !knows(&service, &request) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    if let Some(openai) = openai(&service, &request) {
        return edge::as_worker(&service, &openai, request).await;
    }
    let largest = LARGEST[usize::from(request.uri().path().ends_with("/runsync"))];
    match read(request, largest).await {
        Ok(call) => written(routes::jobs(&service, &call).await),
        Err(problem) => problem.into_response(),
    }
}

/// The endpoint whose worker's OpenAI API is asked.
fn openai(service: &Service, request: &Request) -> Option<Arc<Endpoint>> {
    let path = request.uri().path().strip_prefix("/v2/")?;
    let (id, rest) = path.split_once('/')?;
    rest.starts_with("openai/v1/").then_some(())?;
    service.endpoint(id).filter(|endpoint| endpoint.queue)
}

fn written(answer: Answer) -> Response {
    match answer {
        Ok((status, Some(body))) => (status, Json(body)).into_response(),
        Ok((status, None)) => status.into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// A reply that breaks off.
fn cut() -> Response {
    let pieces = [
        Ok(Bytes::from_static(b"{\"id\":")),
        Err(std::io::Error::other("cut off on request")),
    ];
    Body::from_stream(futures_util::stream::iter(pieces)).into_response()
}

fn spoiled(response: Response, fault: Option<BodyFault>) -> Response {
    let body = match fault {
        None => return response,
        Some(BodyFault::Malformed) => Body::from("{\"pods\":[{\"id\":"),
        Some(BodyFault::WrongType) => Body::from("{\"pods\":7,\"endpoints\":\"none\"}"),
        Some(BodyFault::Empty) => Body::empty(),
        Some(BodyFault::Html) => {
            let page = Html("<html>502 Bad Gateway</html>");
            return (StatusCode::BAD_GATEWAY, page).into_response();
        }
        Some(BodyFault::Huge) => Body::from(vec![b'['; 40 << 20]),
        Some(BodyFault::Slow) => Body::from_stream(futures_util::stream::pending::<
            Result<Bytes, std::convert::Infallible>,
        >()),
    };
    let (mut head, _) = response.into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, body)
}
