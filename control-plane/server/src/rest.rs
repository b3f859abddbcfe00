//! The admin plane's routes.

mod body;
mod costs;
mod dead_letters;
mod deployments;
mod docs;
mod events;
mod fleet;
mod observe;
mod params;
mod problem;
mod requests;
mod secrets;
mod session;
mod simulate;
mod watch;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use axum::{Json, Router};
use serde_json::json;
use ulid::Ulid;

use crate::control::ControlPlane;
use crate::token::check_token;

pub(crate) use problem::Problem;
use problem::REQUEST_ID;

/// What a route needs.
pub(crate) type Control = State<Arc<ControlPlane>>;

/// The description of these routes.
const OPENAPI: &str = include_str!("../../../docs/openapi.json");

type Handler = MethodRouter<Arc<ControlPlane>>;

/// Method, path, the query's parameters, handler.
type Row = (Method, &'static str, &'static [&'static str], Handler);

/// One route of the admin plane.
#[derive(Debug, Clone)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with `{name}` for what varies.
    pub path: &'static str,
    /// What its query may ask; anything else is refused.
    pub query: &'static [&'static str],
    /// Whether it asks for no token.
    pub open: bool,
    handler: Handler,
}

/// Every route of the admin plane: the router is made of this table, and so are
/// the tests that hold the description and the access rules against it.
pub fn routes() -> Vec<Route> {
    let behind_token = guarded().into_iter().map(|it| route(it, false));
    let open: [Row; 3] = [
        (Method::GET, "/healthz", &[], get(healthz)),
        (Method::GET, "/readyz", &[], get(readyz)),
        (Method::GET, "/docs", &[], get(docs::read)),
    ];
    behind_token
        .chain(open.into_iter().map(|it| route(it, true)))
        .collect()
}

fn route((method, path, query, handler): Row, open: bool) -> Route {
    Route {
        method,
        path,
        query,
        open,
        handler,
    }
}

impl Route {
    /// What answers; parameters that nobody reads are refused before it.
    fn handler(self) -> Handler {
        let (query, path) = (self.query, self.path);
        match path.starts_with("/api/") {
            true => self
                .handler
                .route_layer(from_fn_with_state(query, params::known)),
            false => self.handler,
        }
    }
}

#[rustfmt::skip] // one line each: it is a table
fn guarded() -> Vec<Row> {
    vec![
        (Method::GET, "/api/v1/deployments", &["limit", "cursor"], get(deployments::list)),
        (Method::POST, "/api/v1/deployments", &[], post(deployments::create)),
        (Method::PUT, "/api/v1/deployments", &[], put(deployments::put_all)),
        (Method::GET, "/api/v1/deployments/{name}", &[], get(deployments::read)),
        (Method::PUT, "/api/v1/deployments/{name}", &[], put(deployments::put)),
        (Method::PATCH, "/api/v1/deployments/{name}", &[], patch(deployments::patch)),
        (Method::DELETE, "/api/v1/deployments/{name}", &[], delete(deployments::delete)),
        (Method::GET, "/api/v1/deployments/{name}/decision", &[], get(observe::decision)),
        (Method::GET, "/api/v1/deployments/{name}/decisions", &["limit", "cursor"], get(observe::decisions)),
        (Method::PUT, "/api/v1/deployments/{name}/forced", &[], put(deployments::force)),
        (Method::DELETE, "/api/v1/deployments/{name}/forced", &[], delete(deployments::unforce)),
        (Method::POST, "/api/v1/deployments/{name}/wake", &[], post(deployments::wake)),
        (Method::POST, "/api/v1/deployments/{name}/sleep", &[], post(deployments::sleep)),
        (Method::POST, "/api/v1/deployments/{name}/simulate", &["span"], post(simulate::simulate)),
        (Method::GET, "/api/v1/deployments/{name}/series", &["from", "to"], get(watch::series)),
        (Method::GET, "/api/v1/decisions", &["limit", "cursor"], get(observe::all_decisions)),
        (Method::GET, "/api/v1/decisions/{id}", &[], get(observe::past_decision)),
        (Method::GET, "/api/v1/cold-starts", &["deployment"], get(watch::cold_starts)),
        (Method::GET, "/api/v1/requests", &["deployment", "failed"], get(requests::tail)),
        (Method::GET, "/api/v1/requests/in-flight", &["deployment", "limit"], get(requests::in_flight)),
        (Method::POST, "/api/v1/requests/{id}/cancel", &[], post(requests::cancel)),
        (Method::GET, "/api/v1/session", &[], get(session::read)),
        (Method::POST, "/api/v1/session", &[], post(session::open)),
        (Method::DELETE, "/api/v1/session", &[], delete(session::close)),
        (Method::GET, "/api/v1/instances", &[], get(observe::instances)),
        (Method::DELETE, "/api/v1/instances/{id}", &[], delete(observe::delete_instance)),
        (Method::GET, "/api/v1/providers", &[], get(observe::providers)),
        (Method::GET, "/api/v1/providers/{name}/offers", &["tier", "vram_mib", "gpus"], get(observe::offers)),
        (Method::GET, "/api/v1/costs", &["from", "to", "by"], get(costs::costs)),
        (Method::GET, "/api/v1/costs/arrivals", &["from"], get(costs::arrivals)),
        (Method::GET, "/api/v1/secrets", &[], get(secrets::list)),
        (Method::PUT, "/api/v1/secrets/{name}", &[], put(secrets::set)),
        (Method::DELETE, "/api/v1/secrets/{name}", &[], delete(secrets::delete)),
        (Method::GET, "/api/v1/fleet/workers", &[], get(fleet::workers)),
        (Method::GET, "/api/v1/fleet/queues", &[], get(fleet::queues)),
        (Method::GET, "/api/v1/fleet/dead-letters", &["class", "deployment", "fingerprint", "state", "group", "limit", "cursor"], get(dead_letters::list)),
        (Method::POST, "/api/v1/fleet/dead-letters/replay", &[], post(dead_letters::replay_group)),
        (Method::GET, "/api/v1/fleet/dead-letters/{id}", &[], get(dead_letters::read)),
        (Method::DELETE, "/api/v1/fleet/dead-letters/{id}", &[], delete(dead_letters::discard)),
        (Method::POST, "/api/v1/fleet/dead-letters/{id}/replay", &[], post(dead_letters::replay)),
        (Method::GET, "/api/v1/events", &["gauges"], get(events::stream)),
        (Method::GET, "/metrics", &[], get(observe::metrics)),
        (Method::GET, "/openapi.json", &[], get(openapi)),
    ]
}

/// The admin plane of `control`, for the bearer of the token of `hash`.
pub fn router(control: Arc<ControlPlane>, hash: [u8; 32]) -> Router {
    let access = (control.clone(), TokenHash(hash));
    let of = |open: bool| {
        let routes = routes().into_iter().filter(|route| route.open == open);
        routes.fold(Router::new(), |router, it| {
            router.route(it.path, it.handler())
        })
    };
    of(false)
        .route_layer(from_fn_with_state(access, require_token))
        .merge(of(true))
        .merge(crate::console::router())
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::from_fn(request_id))
        .with_state(control)
}

/// What bearer tokens are checked against.
#[derive(Clone, Copy)]
struct TokenHash([u8; 32]);

async fn require_token(
    State((control, TokenHash(hash))): State<(Arc<ControlPlane>, TokenHash)>,
    mut request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(bearer);
    if !token.is_some_and(|token| check_token(&hash, token)) {
        let now = control.clock.wall_micros();
        match crate::session::of(&control.store, headers, &hash, now).await {
            Ok(None) => return unauthorized(),
            Err(error) => return Problem::from(error).into_response(),
            Ok(Some(_)) if !crate::session::comes_from_us(request.method(), headers) => {
                let detail = "a session may change things from the console's own pages alone";
                return Problem::new(403, "foreign_origin", detail).into_response();
            }
            Ok(Some(_)) => {}
        }
    }
    request.extensions_mut().insert(TokenHash(hash));
    next.run(request).await
}

fn unauthorized() -> Response {
    let mut response =
        Problem::new(401, "unauthorized", "a bearer token is needed").into_response();
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

/// The token of `Bearer TOKEN`; the scheme's case does not matter (RFC 9110 §11.1).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start_matches(' '))
}

async fn request_id(request: Request, next: Next) -> Response {
    let id = Ulid::generate().to_string();
    let answer = REQUEST_ID.scope(id.clone(), next.run(request));
    let mut response = answer.await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("x-request-id", value);
    }
    response
}

async fn healthz(State(control): Control) -> Response {
    match control.wedged() {
        None => Json(json!({ "status": "ok" })).into_response(),
        Some(why) => Problem::new(503, "wedged", why).into_response(),
    }
}

async fn readyz(State(control): Control) -> Response {
    match control.not_ready().await {
        None => Json(json!({ "status": "ready" })).into_response(),
        Some(why) => Problem::new(503, "not_ready", why).into_response(),
    }
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

async fn unknown() -> Problem {
    Problem::new(404, "not_found", "there is nothing here")
}

async fn wrong_method(method: Method) -> Response {
    let problem = Problem::new(
        405,
        "method_not_allowed",
        format!("{method} is not allowed here"),
    );
    (StatusCode::METHOD_NOT_ALLOWED, problem).into_response()
}
