use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use thermocline_policy::Tier;

use super::Problem;

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

/// The place where a page ended.
pub(super) fn cursor<'de, D: Deserializer<'de>>(query: D) -> Result<Option<i64>, D::Error> {
    let text = String::deserialize(query)?;
    let error = |_| D::Error::custom("must be the `next` of a page before");
    text.parse().map(Some).map_err(error)
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
