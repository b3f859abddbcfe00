use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use thermocline_policy::Tier;
use thermocline_provider::{OfferQuery, Provider};
use thermocline_wire::rfc3339;

use super::deployments::find;
use super::params::{Asked, Named};
use super::{Control, Problem};
use crate::metrics::render;
use crate::status::{decision_json, instance_json};

pub(super) async fn decision(
    State(control): Control,
    Named(name): Named<String>,
) -> Result<Json<Value>, Problem> {
    let deployment = find(&control, &name)?;
    let (now, wall) = (control.clock.now(), control.clock.wall_micros());
    Ok(Json(decision_json(&deployment.live, now, wall)))
}

/// `?limit&cursor`.
#[derive(Deserialize)]
pub(super) struct Page {
    limit: Option<u32>,
    cursor: Option<i64>,
}

pub(super) async fn decisions(
    State(control): Control,
    Named(name): Named<String>,
    Asked(page): Asked<Page>,
) -> Result<Json<Value>, Problem> {
    find(&control, &name)?;
    let limit = page.limit.unwrap_or(50).clamp(1, 500);
    let rows = control.store.decisions(&name, page.cursor, limit).await?;
    let next = rows
        .last()
        .filter(|_| rows.len() == limit as usize)
        .map(|row| row.id.to_string());
    let items: Vec<Value> = rows
        .into_iter()
        .map(|row| {
            json!({
                "id": row.id,
                "at": rfc3339(row.at),
                "deployment": row.deployment,
                "from": row.from,
                "to": row.to,
                "reason": row.reason,
                "refused": row.refused,
                "inputs": serde_json::from_str::<Value>(&row.inputs).unwrap_or_default(),
            })
        })
        .collect();
    Ok(Json(json!({ "items": items, "next": next })))
}

pub(super) async fn instances(State(control): Control) -> Json<Value> {
    let mut items: Vec<_> = control.index().values().cloned().collect();
    items.sort_by(|a, b| a.id.cmp(&b.id));
    let items: Vec<Value> = items.iter().map(|i| instance_json(i)).collect();
    Json(json!({ "items": items, "next": null }))
}

/// Replaces an instance: it is deleted; where one is wanted, another comes.
pub(super) async fn delete_instance(
    State(control): Control,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    let missing = || Problem::new(404, "not_found", "no such instance");
    let instance = control.index().get(&id).cloned().ok_or_else(missing)?;
    let deployment = find(&control, &instance.request.deployment)?;
    control
        .lost(&deployment, &instance, "deleted by a person")
        .await;
    Ok((StatusCode::ACCEPTED, Json(instance_json(&instance))).into_response())
}

pub(super) async fn providers(State(control): Control) -> Json<Value> {
    let now = control.clock.now();
    let items: Vec<Value> = control
        .providers
        .values()
        .map(|provider| {
            let condition = provider.condition();
            let limited = condition.rate_limited_until.filter(|until| *until > now);
            let until = limited.map(|until| {
                let left = now.until(until).as_micros() as i64;
                rfc3339(control.clock.wall_micros() + left)
            });
            json!({
                "name": provider.name,
                "kind": provider.kind,
                "health": condition.health(),
                "rate_limited_until": until,
                "last_error": condition.last_error,
            })
        })
        .collect();
    Json(json!({ "items": items, "next": null }))
}

/// `?tier&vram_mib&gpus`.
#[derive(Deserialize)]
pub(super) struct Wanted {
    tier: Option<Tier>,
    vram_mib: Option<u64>,
    gpus: Option<u32>,
}

pub(super) async fn offers(
    State(control): Control,
    Named(name): Named<String>,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Value>, Problem> {
    let missing = || Problem::new(404, "not_found", "no such provider");
    let provider = control.providers.get(&name).ok_or_else(missing)?;
    let query = OfferQuery {
        tier: wanted.tier.unwrap_or(Tier::Pod),
        vram_mib: wanted.vram_mib.unwrap_or(0),
        gpus: wanted.gpus.unwrap_or(0),
    };
    let offers = provider.adapter.offers(query).await?;
    Ok(Json(json!({ "items": offers, "next": null })))
}

pub(super) async fn metrics(State(control): Control) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], render(&control)).into_response()
}
