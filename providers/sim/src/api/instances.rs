use std::io;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use thermocline_wire::provider::{InstancePage, InstanceRequest, Lifetime, ProviderInstance};

use super::{Api, asked, read};
use crate::refusal::Refusal;

#[derive(Deserialize)]
pub(super) struct ListQuery {
    owner: String,
    #[serde(default)]
    cursor: Option<String>,
}

pub(super) async fn list(
    State(api): State<Api>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<InstancePage>, Refusal> {
    let query = asked(query)?;
    let cursor = query.cursor.filter(|cursor| !cursor.is_empty());
    Ok(Json(api.cloud.page(&query.owner, cursor.as_deref())))
}

pub(super) async fn create(
    State(api): State<Api>,
    Path(key): Path<String>,
    body: Result<Json<InstanceRequest>, JsonRejection>,
) -> Result<Response, Refusal> {
    let created = api.cloud.create(&key, read(body)?)?;
    if created.drop_reply {
        return Ok(cut_off());
    }
    let status = match created.new {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    Ok((status, Json(created.instance)).into_response())
}

pub(super) async fn get(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<ProviderInstance>, Refusal> {
    api.cloud.get(&id).map(Json).ok_or_else(Refusal::not_found)
}

pub(super) async fn delete(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    match api.cloud.delete(&id) {
        true => Ok(StatusCode::ACCEPTED),
        false => Err(Refusal::not_found()),
    }
}

pub(super) async fn renew(
    State(api): State<Api>,
    Path(id): Path<String>,
    body: Result<Json<Lifetime>, JsonRejection>,
) -> Result<StatusCode, Refusal> {
    match api.cloud.renew(&id, read(body)?.max_lifetime_s) {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Refusal::not_found()),
    }
}

/// A reply whose body breaks before its first byte: the connection closes.
fn cut_off() -> Response {
    let broken = io::Error::from(io::ErrorKind::ConnectionReset);
    let body = stream::iter([Err::<Vec<u8>, _>(broken)]);
    Body::from_stream(body).into_response()
}
