use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use thermocline_policy::FieldErrors;
use thermocline_table::Wish;
use thermocline_wire::forced_from_json;
use thermocline_wire::reader::{Mistakes, Object};

use super::body::document;
use super::params::{self, Asked, Named};
use super::{Control, Problem};
use crate::control::ControlPlane;
use crate::deployment::Controlled;

/// `?limit&cursor`.
#[derive(Deserialize)]
pub(super) struct Page {
    #[serde(default, deserialize_with = "params::limit::<_, LARGEST_PAGE>")]
    limit: Option<u32>,
    #[serde(default, deserialize_with = "params::name_cursor")]
    cursor: Option<String>,
}

const LARGEST_PAGE: u32 = 1000;

pub(super) async fn list(State(control): Control, Asked(page): Asked<Page>) -> Json<Value> {
    let limit = page.limit.unwrap_or(LARGEST_PAGE) as usize;
    let after = page.cursor.unwrap_or_default();
    let mut found = control.all().into_iter().filter(|d| *d.live.name > *after);
    let items: Vec<Arc<Controlled>> = found.by_ref().take(limit).collect();
    let more = found.next().is_some();
    let next = items
        .last()
        .filter(|_| more)
        .map(|d| d.live.name.to_string());
    let items: Vec<Value> = items.iter().map(|d| control.deployment_json(d)).collect();
    Json(json!({ "items": items, "next": next }))
}

pub(super) async fn create(State(control): Control, request: Request) -> Result<Response, Problem> {
    let document = document(request, &control.clock).await?;
    let deployment = control.create(&document).await?;
    Ok((
        StatusCode::CREATED,
        Json(control.deployment_json(&deployment)),
    )
        .into_response())
}

/// `{"items": [spec…], "dry_run": false}`: all or none.
pub(super) async fn put_all(
    State(control): Control,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let document = document(request, &control.clock).await?;
    let (items, dry_run) = several(&document).map_err(Problem::invalid)?;
    let edited = control.put_all(&items, dry_run).await?;
    let items: Vec<Value> = edited
        .into_iter()
        .map(|e| {
            json!({
                "name": e.name,
                "created": e.created,
                "generation": e.generation,
                "changes": e.changes,
                "warnings": e.unchecked,
            })
        })
        .collect();
    Ok(Json(json!({ "items": items })))
}

/// Reads `{"items": […], "dry_run": …}`; a dry run that is misspelt must not be real.
fn several(document: &Value) -> Result<(Vec<Value>, bool), FieldErrors> {
    let mistakes = Mistakes::default();
    let read = Object::root("", document, &mistakes).map(|object| {
        let items = object.list("items", |item| Ok(item.clone()));
        if object.value("items").is_none() {
            object.wrong("items", "is required: a list of specifications");
        }
        let dry_run = object.flag("dry_run").unwrap_or(false);
        object.finish();
        (items.unwrap_or_default(), dry_run)
    });
    mistakes.into_inner().into_result(read.unwrap_or_default())
}

pub(super) async fn read(
    State(control): Control,
    Named(name): Named<String>,
) -> Result<Json<Value>, Problem> {
    let deployment = find(&control, &name)?;
    Ok(Json(control.deployment_json(&deployment)))
}

pub(super) async fn put(
    State(control): Control,
    Named(name): Named<String>,
    request: Request,
) -> Result<Response, Problem> {
    let document = document(request, &control.clock).await?;
    let (deployment, created) = control.put(&name, &document).await?;
    let status = if created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(control.deployment_json(&deployment))).into_response())
}

pub(super) async fn patch(
    State(control): Control,
    Named(name): Named<String>,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let document = document(request, &control.clock).await?;
    let deployment = control.patch(&name, &document).await?;
    Ok(Json(control.deployment_json(&deployment)))
}

pub(super) async fn delete(
    State(control): Control,
    Named(name): Named<String>,
) -> Result<Response, Problem> {
    let deployment = control.delete(&name).await?;
    Ok(accepted(&control, &deployment))
}

pub(super) async fn force(
    State(control): Control,
    Named(name): Named<String>,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let document = document(request, &control.clock).await?;
    let forced = forced_from_json(&document).map_err(Problem::invalid)?;
    control.check_until(&forced, "until")?;
    let deployment = control.force(&name, Some(forced)).await?;
    Ok(Json(control.deployment_json(&deployment)))
}

pub(super) async fn unforce(
    State(control): Control,
    Named(name): Named<String>,
) -> Result<Json<Value>, Problem> {
    let deployment = control.force(&name, None).await?;
    Ok(Json(control.deployment_json(&deployment)))
}

pub(super) async fn wake(
    State(control): Control,
    Named(name): Named<String>,
) -> Result<Response, Problem> {
    let deployment = control.set_stopped(&name, false).await?;
    let live = deployment.live.clone();
    let now = control.clock.now();
    let decision = live.decide(now);
    if let Some(transition) = live.commit(&decision, now) {
        control.note_transition(&live, transition, now);
    }
    let waking = control.clone();
    tokio::spawn(async move {
        if let Err(error) = waking.wake(&live, decision.tier, &Wish::standing()).await {
            tracing::info!(deployment = %live.name, %error, "a wake did not succeed");
        } else if !live.is_warm(decision.tier, waking.clock.now()) {
            waking.warm_up(&live).await;
        }
    });
    Ok(accepted(&control, &deployment))
}

pub(super) async fn sleep(
    State(control): Control,
    Named(name): Named<String>,
) -> Result<Response, Problem> {
    let deployment = control.set_stopped(&name, true).await?;
    Ok(accepted(&control, &deployment))
}

pub(super) fn find(control: &ControlPlane, name: &str) -> Result<Arc<Controlled>, Problem> {
    let missing = || control.no_such_deployment(name).into();
    control.deployment(name).ok_or_else(missing)
}

fn accepted(control: &ControlPlane, deployment: &Controlled) -> Response {
    (
        StatusCode::ACCEPTED,
        Json(control.deployment_json(deployment)),
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_that_is_misspelt_is_refused() {
        let fields = |document: Value| -> Vec<String> {
            let errors = several(&document).err().unwrap_or_default();
            errors.into_iter().map(|e| e.field).collect()
        };
        assert_eq!(
            several(&json!({ "items": [1], "dry_run": true })),
            Ok((vec![json!(1)], true))
        );
        assert_eq!(
            fields(json!({ "items": [], "dry_run": "true" })),
            ["dry_run"]
        );
        assert_eq!(fields(json!({ "items": [], "dryrun": true })), ["dryrun"]);
        assert_eq!(fields(json!({ "dry_run": true })), ["items"]);
        assert_eq!(fields(json!([])), ["document"]);
    }
}
