use std::time::Duration;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use thermocline_policy::{Tier, is_dns_label, parse_duration};
use thermocline_wire::micros;

use super::Problem;
use crate::books::ARRIVALS_KEPT;

/// What the path names; a mistake in it is a problem document.
pub(super) struct Named<T>(pub(super) T);

/// What the query asks; a mistake in it is a problem document.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(named) = Path::from_request_parts(parts, state).await?;
        Ok(Named(named))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(asked) = Query::from_request_parts(parts, state).await?;
        Ok(Asked(asked))
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        let text = rejection.body_text();
        let detail = text.split_once(": ").map_or(&*text, |(_, detail)| detail);
        Problem::new(400, "bad_path", detail)
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        // What comes before the parameter's name is the library's own.
        let text = rejection.body_text();
        let detail = text.split_once(": ").map_or(&*text, |(_, detail)| detail);
        Problem::new(400, "bad_query", detail)
    }
}

/// A mistake in the parameter `name`.
pub(super) fn wrong(name: &str, what: &str) -> Problem {
    Problem::new(400, "bad_query", format!("{name}: {what}"))
}

/// Refuses parameters that the route does not read, or that are given twice: they
/// ask for something else than what is answered.
pub(super) async fn known(
    State(allowed): State<&'static [&'static str]>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let Query(asked) = Query::<Vec<(String, String)>>::try_from_uri(request.uri())?;
    let names = || asked.iter().map(|(name, _)| name.as_str());
    if let Some(name) = names().find(|name| !allowed.contains(name)) {
        return Err(match allowed {
            [] => wrong(name, "no parameter is allowed here"),
            _ => {
                let allowed = allowed.join(", ");
                wrong(name, &format!("is no parameter here; allowed: {allowed}"))
            }
        });
    }
    let twice = |name: &&str| names().filter(|other| other == name).count() > 1;
    match names().find(twice) {
        Some(name) => Err(wrong(name, "must be given once")),
        None => Ok(next.run(request).await),
    }
}

/// How many items a page holds: 1 to `MOST`.
pub(super) fn limit<'de, D: Deserializer<'de>, const MOST: u32>(
    query: D,
) -> Result<Option<u32>, D::Error> {
    let allowed = || D::Error::custom(format_args!("must be a whole number from 1 to {MOST}"));
    let limit = String::deserialize(query)?.parse().map_err(|_| allowed())?;
    match (1..=MOST).contains(&limit) {
        true => Ok(Some(limit)),
        false => Err(allowed()),
    }
}

/// The place where a page ended; empty asks for the first page.
pub(super) fn cursor<'de, D: Deserializer<'de>>(query: D) -> Result<Option<i64>, D::Error> {
    match &*String::deserialize(query)? {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| no_place()),
    }
}

/// The deployment at which a page ended; empty asks for the first page.
pub(super) fn name_cursor<'de, D: Deserializer<'de>>(query: D) -> Result<Option<String>, D::Error> {
    match String::deserialize(query)? {
        text if text.is_empty() => Ok(None),
        text if is_dns_label(&text) => Ok(Some(text)),
        _ => Err(no_place()),
    }
}

fn no_place<E: Error>() -> E {
    E::custom("must be the `next` of a page before")
}

/// A whole number, 0 or more.
pub(super) fn count<'de, D, T>(query: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: std::str::FromStr,
{
    let text = String::deserialize(query)?;
    let error = |_| D::Error::custom("must be a whole number, 0 or more");
    text.parse().map(Some).map_err(error)
}

/// A tier by its name.
pub(super) fn tier<'de, D: Deserializer<'de>>(query: D) -> Result<Option<Tier>, D::Error> {
    let text = String::deserialize(query)?;
    let found = Tier::ALL.into_iter().find(|tier| tier.as_str() == text);
    let error = || D::Error::custom("must be dedicated, local, serverless or pod");
    found.map(Some).ok_or_else(error)
}

/// A time, as microseconds since 1970.
pub(super) fn time<'de, D: Deserializer<'de>>(query: D) -> Result<Option<i64>, D::Error> {
    let error = || D::Error::custom("must be a time as 2026-12-01T00:00:00Z");
    micros(&String::deserialize(query)?)
        .map(Some)
        .ok_or_else(error)
}

/// A span until now, no longer than arrivals are kept.
pub(super) fn span<'de, D: Deserializer<'de>>(query: D) -> Result<Option<Duration>, D::Error> {
    let span = parse_duration(&String::deserialize(query)?).ok();
    let span = span.filter(|span| !span.is_zero() && *span <= ARRIVALS_KEPT);
    let error = || D::Error::custom("must be a duration of 72h at most, as 24h or 90m");
    span.map(Some).ok_or_else(error)
}

/// Yes or no; no when absent.
pub(super) fn flag<'de, D: Deserializer<'de>>(query: D) -> Result<bool, D::Error> {
    let text = String::deserialize(query)?;
    text.parse()
        .map_err(|_| D::Error::custom("must be true or false"))
}

/// A deployment's name.
pub(super) fn name<'de, D: Deserializer<'de>>(query: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(query)?;
    match is_dns_label(&name) {
        true => Ok(Some(name)),
        false => Err(D::Error::custom("must be the name of a deployment")),
    }
}
