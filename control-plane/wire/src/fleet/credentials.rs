//! What of a request lets somebody in, and the words of others without it.

use std::borrow::Cow;
use std::cmp::Reverse;

use url::form_urlencoded;

use crate::hidden::{LEAST_HIDDEN, hide};

/// Beginnings of values that are credentials whatever they are called.
const SCHEMES: [&str; 3] = ["bearer ", "basic ", "digest "];
/// A name that holds one of these names a credential.
const WITHIN: [&str; 12] = [
    "apikey",
    "authoriz",
    "authentic",
    "bearer",
    "cookie",
    "credential",
    "jwt",
    "passw",
    "secret",
    "session",
    "signature",
    "token",
];
/// And so does one of which one of these is a part.
const PARTS: [&str; 5] = ["auth", "key", "pass", "pwd", "sig"];
/// Names that are no credentials although they look like it.
const HARMLESS: [&str; 2] = ["idempotency-key", "sec-websocket-key"];
/// The shortest part of a value that is searched for by itself, bytes: cookies
/// hold words that are no secret too.
const LEAST_PART: usize = 8;

/// Whether the header `name` with `value` lets somebody in.
pub fn is_credential(name: &str, value: &str) -> bool {
    let value = value.trim_start().to_lowercase();
    names_credential(name) || SCHEMES.iter().any(|scheme| value.starts_with(scheme))
}

/// Whether `pair`, `name=value` of a query, lets somebody in; the name as it is
/// without its coding if so.
pub fn credential_in_query(pair: &str) -> Option<String> {
    let (name, _) = form_urlencoded::parse(pair.as_bytes()).next()?;
    names_credential(&name).then(|| name.into_owned())
}

/// Whether what is called `name` lets somebody in. What looks like it is one:
/// a name too many costs a header, one too few a key.
fn names_credential(name: &str) -> bool {
    let name = name.to_lowercase();
    if HARMLESS.contains(&&*name) {
        return false;
    }
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    WITHIN.iter().any(|word| name.contains(word)) || parts.any(|part| PARTS.contains(&part))
}

/// Everything in a request that lets somebody in: by it, what a model says of
/// the request is told without it.
#[derive(Clone, Default)]
pub struct Credentials(Vec<String>);

impl Credentials {
    /// Those in `target`'s query and in `headers`.
    pub fn of(target: &str, headers: &[(String, String)]) -> Self {
        let headers = headers.iter();
        let sent = headers.filter(|(name, value)| is_credential(name, value));
        let mut all: Vec<String> = sent.flat_map(|(_, value)| in_header(value)).collect();
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&');
        let secret = pairs.filter(|pair| credential_in_query(pair).is_some());
        all.extend(secret.filter_map(|pair| Some(pair.split_once('=')?.1.to_owned())));
        let decoded: Vec<String> = all.iter().map(|value| decoded(value)).collect();
        all.extend(decoded);
        let escaped: Vec<String> = all.iter().filter_map(|value| escaped(value)).collect();
        all.extend(escaped);
        all.retain(|value| value.len() >= LEAST_HIDDEN);
        all.sort_by_key(|value| Reverse(value.len()));
        all.dedup();
        Credentials(all)
    }

    /// `text` without them.
    pub fn hidden_in<'t>(&self, text: &'t str) -> Cow<'t, str> {
        hide(text, &self.0)
    }
}

/// A header's value, what follows its scheme, and the values of its parts.
fn in_header(value: &str) -> impl Iterator<Item = String> {
    let value = value.trim();
    let bare = value.split_once(' ').map_or(value, |(_, rest)| rest.trim());
    let parts = value.split([';', ',', ' ']).map(part);
    let parts = parts.filter(|part| part.len() >= LEAST_PART);
    [value, bare].into_iter().chain(parts).map(str::to_owned)
}

/// The value of `name=value`, without its quotes, or what stands alone.
fn part(text: &str) -> &str {
    let text = text.trim().trim_end_matches('=');
    text.split_once('=')
        .map_or(text, |(_, value)| value)
        .trim_matches('"')
}

/// `value` without its percent coding, as a model may show it.
fn decoded(value: &str) -> String {
    let form = value.replace('+', "%2B").replace('&', "%26");
    let form = format!("={form}");
    let read = form_urlencoded::parse(form.as_bytes()).next();
    read.map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// `value` as a model shows it in JSON, where that differs.
fn escaped(value: &str) -> Option<String> {
    let text = serde_json::to_string(value).ok()?;
    let inside = text.get(1..text.len() - 1)?;
    (inside != value).then(|| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of `said` where the request had `target` and `headers`.
    fn told(target: &str, headers: &[(&str, &str)], said: &str) -> String {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let headers: Vec<_> = headers.iter().map(own).collect();
        let credentials = Credentials::of(target, &headers);
        credentials.hidden_in(said).into_owned()
    }

    #[test]
    fn a_debug_page_shows_no_credential_of_its_client() {
        let headers = [
            ("Authorization", "Bearer tok456"),
            ("cookie", "sid=SentinelCookie==; lang=en; u=s%3Asentinel"),
            ("x-api-key", "Sentinel789"),
            ("accept", "text/plain"),
        ];
        let page = "Authorization: Bearer tok456 (tok456), sid: SentinelCookie, u: s:sentinel, \
                    lang: en, X-Api-Key=Sentinel789, accept=text/plain";
        assert_eq!(
            told("/", &headers, page),
            "Authorization: [secret] ([secret]), sid: [secret], u: [secret], \
             lang: en, X-Api-Key=[secret], accept=text/plain"
        );
    }

    #[test]
    fn what_json_has_to_escape_is_hidden_too() {
        let headers = [("x-api-key", r#"{"k":"Sentinel"}"#)];
        let said = r#"{"x-api-key": "{\"k\":\"Sentinel\"}"}"#;
        assert_eq!(told("/", &headers, said), r#"{"x-api-key": "[secret]"}"#);
    }

    #[test]
    fn a_digest_is_hidden_by_its_parts() {
        let digest = r#"Digest username="somebody", response="6629fae49393a053""#;
        let said = "response was 6629fae49393a053";
        let told = told("/", &[("authorization", digest)], said);
        assert_eq!(told, "response was [secret]");
    }

    #[test]
    fn what_the_query_lets_in_with_is_hidden_as_it_came_and_as_it_is_read() {
        let target = "/v1?seed=12345678&api_key=Sent%2Finel";
        let said = "GET /v1?seed=12345678&api_key=Sent%2Finel: no key Sent/inel";
        assert_eq!(
            told(target, &[], said),
            "GET /v1?seed=12345678&api_key=[secret]: no key [secret]"
        );
    }

    #[test]
    fn what_is_cut_off_within_a_credential_tells_no_half() {
        let headers = [("authorization", "Bearer SentinelToken")];
        assert_eq!(told("/", &headers, "got SentinelT"), "got [secret]");
        assert_eq!(told("/", &headers, "got Bearer SentinelT"), "got [secret]");
    }
}
