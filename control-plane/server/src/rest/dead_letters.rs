use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::{Value, json};
use thermocline_policy::FieldErrors;
use thermocline_policy::fleet::Class;
use thermocline_store::{DeadLetterFilter, DeadLetterState};
use thermocline_wire::reader::{Mistakes, Object};

use super::body::document;
use super::params::{self, Asked, Named};
use super::{Control, Problem};
use crate::dead_letters::{Refused, group_json, letter_json, whole_json};

/// `?class&deployment&fingerprint&state&group&limit&cursor`.
#[derive(Deserialize)]
pub(super) struct Wanted {
    #[serde(default, deserialize_with = "class")]
    class: Option<Class>,
    #[serde(default, deserialize_with = "params::name")]
    deployment: Option<String>,
    #[serde(default, deserialize_with = "sixteen_digits")]
    fingerprint: Option<String>,
    #[serde(default, deserialize_with = "state")]
    state: Option<DeadLetterState>,
    #[serde(default, deserialize_with = "group")]
    group: bool,
    #[serde(default, deserialize_with = "params::limit::<_, 500>")]
    limit: Option<u32>,
    #[serde(default, deserialize_with = "params::cursor")]
    cursor: Option<i64>,
}

/// Letters, newest first, or groups of them, those seen last first.
pub(super) async fn list(
    State(control): Control,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Value>, Problem> {
    let filter = DeadLetterFilter {
        class: wanted.class,
        deployment: wanted.deployment,
        fingerprint: wanted.fingerprint,
        state: wanted.state,
    };
    if wanted.group {
        let limit = wanted.limit.unwrap_or(500);
        let groups = control.store.dead_letter_groups(&filter, limit).await?;
        let items: Vec<Value> = groups.iter().map(group_json).collect();
        return Ok(Json(json!({ "items": items, "next": null })));
    }
    let limit = wanted.limit.unwrap_or(50);
    let letters = control.store.dead_letters(&filter, wanted.cursor, limit);
    let rows = letters.await?;
    let last = rows.last().filter(|_| rows.len() == limit as usize);
    let next = last.map(|row| row.seq.to_string());
    let items: Vec<Value> = rows.iter().map(letter_json).collect();
    Ok(Json(json!({ "items": items, "next": next })))
}

pub(super) async fn read(
    State(control): Control,
    Named(id): Named<String>,
) -> Result<Json<Value>, Problem> {
    let row = control.store.dead_letter(&id).await?;
    let row = row.ok_or(Refused::NotFound)?;
    let payload = control.store.dead_letter_payload(&id).await?;
    Ok(Json(whole_json(&row, payload.as_deref())))
}

pub(super) async fn replay(
    State(control): Control,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    let row = control.replay_letter(&id).await?;
    Ok((StatusCode::ACCEPTED, Json(letter_json(&row))).into_response())
}

/// `{"fingerprint": …}`.
pub(super) async fn replay_group(
    State(control): Control,
    request: Request,
) -> Result<Response, Problem> {
    let document = document(request, &control.clock).await?;
    let fingerprint = fingerprint(&document).map_err(Problem::invalid)?;
    let (replaying, left) = control.replay_group(&fingerprint).await?;
    let body = json!({
        "fingerprint": fingerprint,
        "replaying": replaying,
        "left": left,
        "pace_s": control.dead_letters.pace().as_secs_f64(),
    });
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

pub(super) async fn discard(
    State(control): Control,
    Named(id): Named<String>,
) -> Result<StatusCode, Problem> {
    control.discard_letter(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn fingerprint(document: &Value) -> Result<String, FieldErrors> {
    let mistakes = Mistakes::default();
    let fingerprint = Object::root("", document, &mistakes).and_then(|root| {
        let fingerprint = root.text("fingerprint");
        if root.value("fingerprint").is_none() {
            root.wrong("fingerprint", "is required: that of the letters to replay");
        }
        root.finish();
        fingerprint
    });
    let errors = mistakes.into_inner();
    match fingerprint {
        Some(fingerprint) => errors.into_result(fingerprint),
        None => Err(errors),
    }
}

fn class<'de, D: Deserializer<'de>>(query: D) -> Result<Option<Class>, D::Error> {
    let word = String::deserialize(query)?;
    let found = Class::ALL.into_iter().find(|one| one.as_str() == word);
    let error = || D::Error::custom("must be transient, deterministic or poison");
    found.map(Some).ok_or_else(error)
}

fn state<'de, D: Deserializer<'de>>(query: D) -> Result<Option<DeadLetterState>, D::Error> {
    let word = String::deserialize(query)?;
    let all = DeadLetterState::ALL;
    let found = all.into_iter().find(|one| one.as_str() == word);
    let error = || D::Error::custom("must be open, replaying, replayed or discarded");
    found.map(Some).ok_or_else(error)
}

fn sixteen_digits<'de, D: Deserializer<'de>>(query: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(query)?;
    match text.len() == 16 && text.chars().all(|c| c.is_ascii_hexdigit()) {
        true => Ok(Some(text)),
        false => Err(D::Error::custom("must be sixteen hexadecimal digits")),
    }
}

fn group<'de, D: Deserializer<'de>>(query: D) -> Result<bool, D::Error> {
    match &*String::deserialize(query)? {
        "fingerprint" => Ok(true),
        _ => Err(D::Error::custom("must be fingerprint")),
    }
}
