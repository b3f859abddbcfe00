use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use thermocline_policy::Tier;
use thermocline_provider::{OfferQuery, Provider};
use thermocline_store::DecisionRow;
use thermocline_wire::rfc3339;

use super::deployments::find;
use super::params::{self, Asked, Named};
use super::{Control, Problem};
use crate::metrics::render;
use crate::provider::DOCKER;
use crate::status::{decision_json, instance_json};

pub(super) async fn decision(
    State(control): Control,
    Named(name): Named<String>,
) -> Result<Json<Value>, Problem> {
    let deployment = find(&control, &name)?;
    let (now, wall) = (control.clock.now(), control.clock.wall_micros());
    let mut decision = decision_json(&deployment, now, wall);
    decision["budget"] = control.budget_json(&deployment);
    decision["unserved"] = json!(deployment.with_spec(|spec| control.unserved(spec)));
    decision["obstacles"] = json!(control.obstacles(&deployment));
    Ok(Json(decision))
}

/// `?limit&cursor`.
#[derive(Deserialize)]
pub(super) struct Page {
    #[serde(default, deserialize_with = "params::limit::<_, 500>")]
    limit: Option<u32>,
    #[serde(default, deserialize_with = "params::cursor")]
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
    Ok(page_of(rows, limit))
}

/// The same, of every deployment.
pub(super) async fn all_decisions(
    State(control): Control,
    Asked(page): Asked<Page>,
) -> Result<Json<Value>, Problem> {
    let limit = page.limit.unwrap_or(50).clamp(1, 500);
    let rows = control.store.all_decisions(page.cursor, limit).await?;
    Ok(page_of(rows, limit))
}

pub(super) async fn past_decision(
    State(control): Control,
    Named(id): Named<i64>,
) -> Result<Json<Value>, Problem> {
    let found = control.store.decision(id).await?;
    let missing = || Problem::new(404, "not_found", "no such decision is kept");
    found.map(|row| Json(past(row))).ok_or_else(missing)
}

fn page_of(rows: Vec<DecisionRow>, limit: u32) -> Json<Value> {
    let next = rows
        .last()
        .filter(|_| rows.len() == limit as usize)
        .map(|row| row.id.to_string());
    let items: Vec<Value> = rows.into_iter().map(past).collect();
    Json(json!({ "items": items, "next": next }))
}

fn past(row: DecisionRow) -> Value {
    let mut inputs = serde_json::from_str::<Value>(&row.inputs).unwrap_or_default();
    // Written down together; older rows have none.
    let fields = inputs.as_object_mut();
    let costs = fields.and_then(|fields| fields.remove("costs"));
    json!({
        "id": row.id,
        "at": rfc3339(row.at),
        "deployment": row.deployment,
        "from": row.from,
        "to": row.to,
        "reason": row.reason,
        "refused": row.refused,
        "inputs": inputs,
        "costs": costs,
    })
}

pub(super) async fn instances(State(control): Control) -> Json<Value> {
    let mut items: Vec<_> = control.index().values().cloned().collect();
    items.sort_by(|a, b| a.id.cmp(&b.id));
    let known = items.iter().map(|i| instance_json(i));
    let items: Vec<Value> = known.chain(control.out_of_reach(None)).collect();
    Json(json!({ "items": items, "next": null }))
}

/// Replaces an instance: it drains, then it is deleted; where one is wanted,
/// another comes. Asked a second time, its work in hand is cut.
pub(super) async fn delete_instance(
    State(control): Control,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    let Some(instance) = control.index().get(&id).cloned() else {
        return Err(match control.is_out_of_reach(&id) {
            true => Problem::new(409, "no_provider", "its provider is not configured"),
            false => Problem::new(404, "not_found", "no such instance"),
        });
    };
    let deployment = find(&control, &instance.request.deployment)?;
    control.release(&deployment, &instance).await;
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
            let mut item = json!({
                "name": provider.name,
                "kind": provider.kind,
                "health": condition.health(),
                "rate_limited_until": until,
                "unanswered_since": control.silent_since(provider),
                "last_error": condition.trouble().map(str::to_owned).or_else(|| provider.why_unlisted()),
                "committed_usd_per_hour": control.committed_at(&provider.name).as_usd(),
                "max_absence_s": control.lifetime(provider).map(|lifetime| lifetime.as_secs()),
            });
            if provider.name == DOCKER {
                let (gpus, error) = control.machine.json();
                (item["gpus"], item["gpu_error"]) = (json!(gpus), json!(error));
            }
            item
        })
        .collect();
    Json(json!({ "items": items, "next": null }))
}

/// `?tier&vram_mib&gpus`.
#[derive(Deserialize)]
pub(super) struct Wanted {
    #[serde(default, deserialize_with = "params::tier")]
    tier: Option<Tier>,
    #[serde(default, deserialize_with = "params::count")]
    vram_mib: Option<u64>,
    #[serde(default, deserialize_with = "params::count")]
    gpus: Option<u32>,
}

pub(super) async fn offers(
    State(control): Control,
    Named(name): Named<String>,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Value>, Problem> {
    let missing = || Problem::new(404, "not_found", control.no_such_provider(&name));
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
