use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::json;
use thermocline_wire::rfc3339;

use super::{Control, Problem, TokenHash};
use crate::session;

/// Opens a session; the token, or an older session, was shown already.
pub(super) async fn open(
    State(control): Control,
    Extension(TokenHash(hash)): Extension<TokenHash>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let now = control.clock.wall_micros();
    let secure = session::is_secure(&headers);
    let opened = session::open(&control.store, &hash, secure, now).await?;
    let body = json!({ "expires_at": rfc3339(opened.expires_at) });
    let cookie = [(header::SET_COOKIE, opened.cookie)];
    Ok((StatusCode::CREATED, cookie, Json(body)).into_response())
}

/// Until when the session of this request lasts; null for a bearer.
pub(super) async fn read(
    State(control): Control,
    Extension(TokenHash(hash)): Extension<TokenHash>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let now = control.clock.wall_micros();
    let end = session::of(&control.store, &headers, &hash, now).await?;
    Ok(Json(json!({ "expires_at": end.map(rfc3339) })).into_response())
}

pub(super) async fn close(
    State(control): Control,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let cookie = session::close(&control.store, &headers).await?;
    let cookie = [(header::SET_COOKIE, cookie)];
    Ok((StatusCode::NO_CONTENT, cookie).into_response())
}
