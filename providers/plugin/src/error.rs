//! What a failed call means, in the provider's error kinds.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde::Deserialize;
use thermocline_provider::{ProviderError, ProviderErrorKind};

/// The longest delay that a plugin can impose.
const LONGEST_DELAY: Duration = Duration::from_secs(3_600);
/// How much of a plugin's own words is kept, characters.
const LONGEST_DETAIL: usize = 300;

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
    let detail = problem.map(|problem| clean(&problem.detail, secrets));
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

/// `unavailable`, because there is no answer; its cause names no address.
pub(crate) fn unanswered(error: &reqwest::Error) -> ProviderError {
    let detail = match () {
        () if error.is_timeout() => "the plugin did not answer in time",
        () if error.is_connect() => "the plugin cannot be reached",
        () => "the connection to the plugin broke",
    };
    ProviderError::new(ProviderErrorKind::Unavailable, detail)
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

/// In seconds; a date is not understood.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_DELAY))
}

/// A plugin's own words on one short line, without what we told it in confidence.
fn clean(detail: &str, secrets: &[&str]) -> String {
    let mut detail = detail.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        detail = detail.replace(secret, "…");
    }
    let line = detail.chars().map(|c| if c.is_control() { ' ' } else { c });
    line.take(LONGEST_DETAIL)
        .collect::<String>()
        .trim()
        .to_owned()
}
