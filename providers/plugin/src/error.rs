//! What a failed call means, in the provider's error kinds.

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde::Deserialize;
use thermocline_provider::cloud::{one_line, retry_after};
use thermocline_provider::{ProviderError, ProviderErrorKind};

/// The parts of a problem document that are read.
#[derive(Deserialize)]
struct Problem {
    code: String,
    #[serde(default)]
    detail: String,
}

/// The error that `status` with `body` stands for.
pub(crate) fn refused(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    secrets: &[&str],
) -> ProviderError {
    let problem = serde_json::from_slice::<Problem>(body).ok();
    let code = problem.as_ref().map_or("", |problem| problem.code.as_str());
    let kind = kind(code, status, headers);
    let detail = problem.map(|problem| one_line(&problem.detail, secrets));
    match detail.filter(|detail| !detail.is_empty()) {
        Some(detail) => ProviderError::new(kind, detail),
        None => ProviderError::new(
            kind,
            format!("the plugin answered with status {}", status.as_u16()),
        ),
    }
}

/// `unavailable`, because the answer is not of the protocol.
pub(crate) fn malformed(what: &str) -> ProviderError {
    ProviderError::new(
        ProviderErrorKind::Unavailable,
        format!("the plugin's answer {what}"),
    )
}

/// There is no answer; its cause names no address.
pub(crate) fn unanswered(error: &reqwest::Error) -> ProviderError {
    use ProviderErrorKind::{Unanswered, Unreachable};
    let (kind, detail) = match () {
        () if error.is_connect() => (Unreachable, "the plugin cannot be reached"),
        () if error.is_timeout() => (Unanswered, "the plugin did not answer in time"),
        () => (Unanswered, "the connection to the plugin broke"),
    };
    ProviderError::new(kind, detail)
}

/// By code; a bare 429 is understood too, since proxies answer so.
fn kind(code: &str, status: StatusCode, headers: &HeaderMap) -> ProviderErrorKind {
    match code {
        "no_capacity" => ProviderErrorKind::NoCapacity,
        "rate_limited" => ProviderErrorKind::RateLimited(retry_after(headers)),
        "auth" => ProviderErrorKind::Auth,
        "invalid" => ProviderErrorKind::Invalid,
        "quota" => ProviderErrorKind::Quota,
        "" if status == StatusCode::TOO_MANY_REQUESTS => {
            ProviderErrorKind::RateLimited(retry_after(headers))
        }
        _ => ProviderErrorKind::Unavailable,
    }
}
