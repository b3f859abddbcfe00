use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use super::deployments::find;
use super::params::{self, Asked, Named};
use super::{Control, Problem};

/// What a chart shows that asks for no time.
const USUAL: i64 = 20 * 60 * 1_000_000;

/// `?from&to`.
#[derive(Deserialize)]
pub(super) struct Span {
    #[serde(default, deserialize_with = "params::time")]
    from: Option<i64>,
    #[serde(default, deserialize_with = "params::time")]
    to: Option<i64>,
}

pub(super) async fn series(
    State(control): Control,
    Named(name): Named<String>,
    Asked(span): Asked<Span>,
) -> Result<Json<Value>, Problem> {
    let deployment = find(&control, &name)?;
    let now = control.clock.wall_micros();
    let to = span.to.unwrap_or(now);
    let from = span.from.unwrap_or(to.saturating_sub(USUAL));
    if from > to {
        return Err(params::wrong("from", "must not be after to"));
    }
    Ok(Json(control.series_json(&deployment, from, to)))
}

/// `?deployment`.
#[derive(Deserialize)]
pub(super) struct Whose {
    #[serde(default, deserialize_with = "params::name")]
    deployment: Option<String>,
}

pub(super) async fn cold_starts(
    State(control): Control,
    Asked(whose): Asked<Whose>,
) -> Json<Value> {
    let items = control.cold_starts.json(whose.deployment.as_deref());
    Json(json!({ "items": items, "next": null }))
}
