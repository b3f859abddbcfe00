//! The admin plane's routes.

mod body;
mod deployments;
mod events;
mod observe;
mod problem;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde_json::json;
use ulid::Ulid;

use crate::control::ControlPlane;
use crate::token::check_token;

pub(crate) use problem::Problem;

/// What a route needs.
pub(crate) type Control = State<Arc<ControlPlane>>;

/// The description of these routes.
const OPENAPI: &str = include_str!("../../../docs/openapi.json");

/// The admin plane of `control`, for the bearer of the token of `hash`.
pub(crate) fn router(control: Arc<ControlPlane>, hash: [u8; 32]) -> Router {
    let api = Router::new()
        .route(
            "/deployments",
            get(deployments::list)
                .post(deployments::create)
                .put(deployments::put_all),
        )
        .route(
            "/deployments/{name}",
            get(deployments::read)
                .put(deployments::put)
                .patch(deployments::patch)
                .delete(deployments::delete),
        )
        .route("/deployments/{name}/decision", get(observe::decision))
        .route("/deployments/{name}/decisions", get(observe::decisions))
        .route(
            "/deployments/{name}/forced",
            put(deployments::force).delete(deployments::unforce),
        )
        .route("/deployments/{name}/wake", post(deployments::wake))
        .route("/deployments/{name}/sleep", post(deployments::sleep))
        .route("/instances", get(observe::instances))
        .route(
            "/instances/{id}",
            axum::routing::delete(observe::delete_instance),
        )
        .route("/providers", get(observe::providers))
        .route("/providers/{name}/offers", get(observe::offers))
        .route("/events", get(events::stream));
    Router::new()
        .nest("/api/v1", api)
        .route("/metrics", get(observe::metrics))
        .route("/openapi.json", get(openapi))
        .route_layer(from_fn_with_state(hash, require_token))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::from_fn(request_id))
        .with_state(control)
}

async fn require_token(State(hash): State<[u8; 32]>, request: Request, next: Next) -> Response {
    let token = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    if token.is_some_and(|token| check_token(&hash, token)) {
        return next.run(request).await;
    }
    let mut response =
        Problem::new(401, "unauthorized", "a bearer token is needed").into_response();
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

async fn request_id(request: Request, next: Next) -> Response {
    let id = Ulid::generate().to_string();
    let mut response = next.run(request).await;
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
