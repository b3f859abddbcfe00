use bytes::Bytes;
use serde_json::Value;

use super::*;

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

/// What is kept of `request`, where whatever is sealed reads `sealed`.
fn kept(request: &ParkedRequest, redaction: &Redaction) -> (Value, Vec<String>) {
    let (head, cut) = Head::of(request, redaction, |_| Some("sealed".to_owned()));
    (json!(head), cut)
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
        let (head, cut) = kept(&request, &Redaction::default());
        assert!(!head.to_string().contains("sentinel"), "{name}");
        assert_eq!(cut, [format!("header {}", name.to_lowercase())]);
        assert_eq!(head["headers"], json!([["accept", "*/*"]]));
    }
    let odd = request("/", &[("x-forwarded-by", "Bearer sentinel")]);
    let (head, _) = kept(&odd, &Redaction::default());
    assert!(!head.to_string().contains("sentinel"));
}

#[test]
fn a_query_keeps_what_is_no_credential() {
    let request = request("/v1/x?steps=3&api_key=sentinel&sig=sentinel&seed=1", &[]);
    let (head, cut) = kept(&request, &Redaction::default());
    assert_eq!(head["target"], "/v1/x?steps=3&seed=1");
    assert_eq!(cut, ["query api_key", "query sig"]);
    for coded in ["token=sentinel", "api%5Fkey=sentinel", "%74oken=sentinel"] {
        let request = self::request(&format!("/v1/x?{coded}"), &[]);
        let (head, _) = kept(&request, &Redaction::default());
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
    let (head, cut) = kept(&request("/a", &headers), &redaction);
    assert!(cut.is_empty());
    let expected = json!([
        ["content-type", "application/json"],
        ["idempotency-key", "7"],
        ["x-note", "uses [secret]"],
    ]);
    assert_eq!(head["headers"], expected);
    assert_eq!(head["sealed"], "sealed");
}

#[test]
fn what_is_sealed_is_what_was_sent_and_only_where_something_is_hidden() {
    let redaction = Redaction::default();
    redaction.hide("hf_Sentinel");
    let sent = request(
        "/a/hf_Sentinel?n=1",
        &[("x-note", "plain"), ("cookie", "c")],
    );
    let mut sealed = String::new();
    let (head, _) = Head::of(&sent, &redaction, |text| {
        text.clone_into(&mut sealed);
        None
    });
    assert_eq!(sealed, r#"["/a/hf_Sentinel?n=1",[["x-note","plain"]]]"#);
    assert_eq!(head.target, "/a/[secret]?n=1");
    assert_eq!(
        head.sealed.as_deref(),
        Some(""),
        "there is something to seal"
    );
    let (plain, _) = kept(&request("/a", &[]), &redaction);
    assert!(plain.get("sealed").is_none());
}
