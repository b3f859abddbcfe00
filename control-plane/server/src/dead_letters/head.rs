//! What may be kept of a request's head: everything but what lets somebody in.

use serde_json::{Value, json};
use thermocline_provider::fleet::ParkedRequest;

use crate::secrets::Redaction;

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

/// A request's head without credentials, and what was left out.
pub(super) fn without_credentials(
    request: &ParkedRequest,
    redaction: &Redaction,
) -> (Value, Vec<String>) {
    let mut cut = Vec::new();
    let mut headers = Vec::new();
    for (name, value) in &request.headers {
        if is_credential(name) || has_scheme(value) {
            cut.push(format!("header {}", name.to_lowercase()));
        } else {
            headers.push((name, redaction.clean(value)));
        }
    }
    let target = without_secret_query(&request.target, &mut cut);
    let head = json!({
        "method": request.method,
        "target": redaction.clean(&target),
        "headers": headers,
    });
    (head, cut)
}

/// `target` without the parts of its query that are credentials.
fn without_secret_query(target: &str, cut: &mut Vec<String>) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            let name = url::form_urlencoded::parse(pair.as_bytes()).next();
            let name = name.map(|(name, _)| name.into_owned()).unwrap_or_default();
            let secret = is_credential(&name);
            if secret {
                cut.push(format!("query {}", name.to_lowercase()));
            }
            !secret
        })
        .collect();
    match kept.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", kept.join("&")),
    }
}

fn has_scheme(value: &str) -> bool {
    let value = value.trim_start().to_lowercase();
    SCHEMES.iter().any(|scheme| value.starts_with(scheme))
}

/// Whether what is called `name` lets somebody in. What looks like it is one:
/// a name too many costs a header, one too few a key.
fn is_credential(name: &str) -> bool {
    let name = name.to_lowercase();
    if HARMLESS.contains(&&*name) {
        return false;
    }
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    WITHIN.iter().any(|word| name.contains(word)) || parts.any(|part| PARTS.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn request(target: &str, headers: &[(&str, &str)]) -> ParkedRequest {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        ParkedRequest {
            deployment: "sdxl".into(),
            method: "POST".into(),
            target: target.into(),
            headers: headers.iter().map(own).collect(),
            payload: Bytes::new(),
        }
    }

    #[test]
    fn what_lets_somebody_in_is_never_kept() {
        let names = [
            "Authorization",
            "proxy-authorization",
            "Cookie",
            "X-Api-Key",
            "x-goog-api-key",
            "x-auth",
            "CF-Access-Client-Secret",
            "X-Amz-Security-Token",
            "x-session-id",
            "ApiKey",
        ];
        for name in names {
            let request = request("/", &[(name, "sentinel"), ("accept", "*/*")]);
            let (head, cut) = without_credentials(&request, &Redaction::default());
            assert!(!head.to_string().contains("sentinel"), "{name}");
            assert_eq!(cut, [format!("header {}", name.to_lowercase())]);
            assert_eq!(head["headers"], json!([["accept", "*/*"]]));
        }
        let odd = request("/", &[("x-forwarded-by", "Bearer sentinel")]);
        let (head, _) = without_credentials(&odd, &Redaction::default());
        assert!(!head.to_string().contains("sentinel"));
    }

    #[test]
    fn a_query_keeps_what_is_no_credential() {
        let request = request("/v1/x?steps=3&api_key=sentinel&sig=sentinel&seed=1", &[]);
        let (head, cut) = without_credentials(&request, &Redaction::default());
        assert_eq!(head["target"], "/v1/x?steps=3&seed=1");
        assert_eq!(cut, ["query api_key", "query sig"]);
        for coded in ["token=sentinel", "api%5Fkey=sentinel", "%74oken=sentinel"] {
            let request = self::request(&format!("/v1/x?{coded}"), &[]);
            let (head, _) = without_credentials(&request, &Redaction::default());
            assert_eq!(head["target"], "/v1/x");
        }
    }

    #[test]
    fn what_is_needed_to_run_it_again_is_kept_and_secrets_are_hidden() {
        let redaction = Redaction::default();
        redaction.hide("hf_Sentinel");
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", "7"),
            ("x-note", "uses hf_Sentinel"),
        ];
        let (head, cut) = without_credentials(&request("/a", &headers), &redaction);
        assert!(cut.is_empty());
        let expected = json!([
            ["content-type", "application/json"],
            ["idempotency-key", "7"],
            ["x-note", "uses [secret]"],
        ]);
        assert_eq!(head["headers"], expected);
    }
}
