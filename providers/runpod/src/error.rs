//! What an answer means, in the provider's error kinds.

use std::time::Duration;

use serde::Deserialize;
use thermocline_provider::cloud::one_line;
use thermocline_provider::{ProviderError, ProviderErrorKind as Kind};

#[derive(Deserialize)]
struct Problem {
    #[serde(default)]
    detail: String,
    #[serde(default)]
    errors: Vec<String>,
}

/// The error that `status` with `body` stands for.
pub(crate) fn refused(
    status: u16,
    body: &[u8],
    retry_after: Option<Duration>,
    key: &str,
) -> ProviderError {
    let problem = serde_json::from_slice::<Problem>(body).ok();
    let words = problem.map_or(String::new(), |it| match it.errors.is_empty() {
        true => it.detail,
        false => format!("{} {}", it.detail, it.errors.join("; ")),
    });
    let detail = one_line(&words, &[key]);
    let kind = kind(status, &detail, retry_after);
    match detail.is_empty() {
        true => ProviderError::new(kind, format!("RunPod answered with status {status}")),
        false => ProviderError::new(kind, detail),
    }
}

fn kind(status: u16, detail: &str, retry_after: Option<Duration>) -> Kind {
    match status {
        400 if out_of_stock(detail) => Kind::NoCapacity,
        400 if detail.contains("workers quota") => Kind::Quota,
        401 | 403 => Kind::Auth,
        402 => Kind::NoCredit,
        429 => Kind::RateLimited(retry_after),
        400 | 404 | 405 | 409 | 413 | 422 => Kind::Invalid,
        _ => Kind::Unavailable,
    }
}

/// There is no code for it, only words.
fn out_of_stock(detail: &str) -> bool {
    [
        "no longer any instances",
        "no instances currently available",
        "not enough free GPUs",
    ]
    .iter()
    .any(|words| detail.contains(words))
}

/// `unavailable`: it says nothing about what exists.
pub(crate) fn unavailable(detail: &str) -> ProviderError {
    ProviderError::new(Kind::Unavailable, detail)
}

/// `invalid`: a person must change the request.
pub(crate) fn invalid(detail: impl Into<String>) -> ProviderError {
    ProviderError::new(Kind::Invalid, detail)
}

/// `unavailable`, because the answer is not of the API.
pub(crate) fn malformed() -> ProviderError {
    unavailable("RunPod's answer cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, detail: &str) -> Kind {
        let body = serde_json::json!({ "status": status, "detail": detail });
        refused(status, body.to_string().as_bytes(), None, "sentinel").kind
    }

    #[test]
    fn no_stock_and_quota_are_told_from_mistakes_by_their_words() {
        let stock =
            "There are no longer any instances available with the requested specifications.";
        assert_eq!(of(400, stock), Kind::NoCapacity);
        let quota = "Max workers across all endpoints must not exceed your workers quota (10).";
        assert_eq!(of(400, quota), Kind::Quota);
        assert_eq!(of(400, "unknown GPU pool"), Kind::Invalid);
        assert_eq!(of(402, "balance"), Kind::NoCredit);
        assert_eq!((of(401, ""), of(403, "")), (Kind::Auth, Kind::Auth));
        assert_eq!(
            (of(500, ""), of(524, ""), of(302, "")),
            (Kind::Unavailable, Kind::Unavailable, Kind::Unavailable)
        );
    }

    #[test]
    fn every_mistake_is_told_and_the_key_is_not() {
        let body =
            br#"{"detail":"Request validation failed for sentinel.","errors":["$: a","$: b"]}"#;
        let error = refused(422, body, None, "sentinel");
        assert_eq!(error.detail, "Request validation failed for …. $: a; $: b");
        assert!(error.before_effect());
    }
}
