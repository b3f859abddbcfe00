//! The provider protocol over HTTP, and what controls the simulation.

mod control;
mod instances;

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde::Deserialize;
use subtle::ConstantTimeEq;
use thermocline_policy::Tier;
use thermocline_wire::provider::{Capabilities, Offers, PROTOCOL};
use tokio_util::sync::CancellationToken;

use crate::cloud::Cloud;
use crate::refusal::Refusal;

/// The name under which the cloud presents itself.
pub(crate) const NAME: &str = "sim";

/// What the API works on.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) token: Arc<str>,
    /// Cancelled by a call that asks the process to end.
    pub(crate) end: CancellationToken,
}

/// The routes, each behind the token.
pub(crate) fn routes(api: Api) -> Router {
    let delayed = Router::new()
        .route("/v1/offers", get(offers))
        .route("/v1/instances", get(instances::list))
        .route(
            "/v1/instances/{id}",
            get(instances::get)
                .put(instances::create)
                .delete(instances::delete),
        )
        .route("/v1/instances/{id}/lifetime", put(instances::renew))
        .layer(middleware::from_fn_with_state(api.clone(), delay));
    Router::new()
        .route("/v1/capabilities", get(capabilities))
        .route("/v1/faults", put(control::set_faults))
        .route("/v1/settings", put(control::set_settings))
        .route("/v1/stop", post(control::stop))
        .merge(delayed)
        .layer(middleware::from_fn_with_state(api.clone(), authorize))
        .with_state(api)
}

async fn authorize(State(api): State<Api>, request: Request, next: Next) -> Response {
    let sent = request.headers().get(AUTHORIZATION);
    let sent = sent.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    if !bool::from(sent.unwrap_or_default().ct_eq(api.token.as_bytes())) {
        return Refusal::auth().into_response();
    }
    api.cloud.note_call();
    next.run(request).await
}

async fn delay(State(api): State<Api>, request: Request, next: Next) -> Response {
    let wait = api.cloud.delay();
    if !wait.is_zero() {
        api.cloud.clock.sleep(wait).await;
    }
    next.run(request).await
}

async fn capabilities() -> Json<Capabilities> {
    Json(Capabilities {
        protocol: PROTOCOL,
        name: NAME.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        tiers: vec![Tier::Serverless, Tier::Pod],
        prices: true,
        lifetimes: true,
        checks: false,
    })
}

#[derive(Deserialize)]
struct OfferQuery {
    tier: Tier,
    #[serde(default)]
    vram_mib: u64,
}

async fn offers(
    State(api): State<Api>,
    query: Result<Query<OfferQuery>, QueryRejection>,
) -> Result<Json<Offers>, Refusal> {
    let query = asked(query)?;
    let offers = api.cloud.offers(query.tier, query.vram_mib);
    Ok(Json(Offers { offers }))
}

/// A query of the protocol, or why it is none.
fn asked<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Refusal> {
    query
        .map(|Query(value)| value)
        .map_err(|rejection| Refusal::invalid(rejection.body_text()))
}

/// A body of the protocol, or why it is none.
fn read<T>(body: Result<Json<T>, JsonRejection>) -> Result<T, Refusal> {
    body.map(|Json(value)| value)
        .map_err(|rejection| Refusal::invalid(rejection.body_text()))
}
