use serde_json::json;

use super::*;

/// The fields that are wrong in the provider `p`.
fn mistakes(provider: Value) -> Vec<String> {
    let found = read(&json!({ "providers": { "p": provider } })).err();
    let fields = found.into_iter().flatten().map(|error| error.field);
    let inside = |field: String| field.strip_prefix("providers.p.").unwrap().to_owned();
    fields.map(inside).collect()
}

#[test]
fn every_mistake_is_reported_with_its_key() {
    let odd = json!({ "providers": {
        "toy": { "kind": "sim", "pod_bot": "3s" }, "a b": {}, "docker": { "kind": "sim" },
        "acme": { "kind": "plugin" }, "none": {}, "other": { "kind": "fly" }, "seven": 7,
    } });
    let fields: Vec<String> = read(&odd)
        .unwrap_err()
        .into_iter()
        .map(|e| e.field)
        .collect();
    let expected = [
        "a b",
        "acme.url",
        "docker",
        "none.kind",
        "other.kind",
        "seven",
        "toy.pod_bot",
    ];
    assert_eq!(fields, expected.map(|field| format!("providers.{field}")));
}

#[test]
fn a_plugin_has_a_url_or_a_command() {
    let plugin = |mut keys: Value| {
        keys["kind"] = json!("plugin");
        mistakes(keys)
    };
    let fine = [
        json!({ "url": "http://127.0.0.1:9000", "token_env": "T" }),
        json!({ "command": ["acme-adapter", "--fast"] }),
    ];
    for keys in fine {
        assert_eq!(plugin(keys), [""; 0]);
    }
    let odd = [
        (json!({}), "url"),
        (json!({ "url": "ftp://x" }), "url"),
        (json!({ "url": "http://x", "command": ["c"] }), "command"),
        (json!({ "command": [] }), "command"),
        (json!({ "command": ["c"], "token_env": "T" }), "token_env"),
    ];
    for (keys, field) in odd {
        assert_eq!(plugin(keys), [field]);
    }
}

#[test]
fn an_account_needs_nothing_but_its_key() {
    for kind in ["runpod", "vast"] {
        assert_eq!(mistakes(json!({ "kind": kind })), [""; 0]);
    }
}

#[test]
fn a_vast_account_that_is_told_nonsense_says_so_field_by_field() {
    let odd = json!({
        "kind": "vast", "api_key_env": "A", "api_key_file": "B", "base_url": "ftp://x",
        "disk_gb": 7, "verified": "yes", "reliability": 2, "countries": ["Sweden", "SE"],
        "bid": 0.5, "endpoint_type": "queue",
    });
    let expected = [
        "api_key_file",
        "base_url",
        "disk_gb",
        "verified",
        "reliability",
        "countries[0]",
        "bid",
        "endpoint_type",
    ];
    assert_eq!(mistakes(odd), expected);
}

#[test]
fn a_runpod_account_that_is_told_nonsense_says_so_field_by_field() {
    let odd = json!({
        "kind": "runpod", "api_key_env": "A", "api_key_file": "B", "endpoint_type": "lb",
        "pod_url": "https://{id}.example", "job_timeout": "1s", "job_listen": "0.0.0.0:1",
        "gpu": "L4",
    });
    let expected = [
        "api_key_file",
        "pod_url",
        "endpoint_type",
        "job_listen",
        "job_timeout",
        "gpu",
    ];
    assert_eq!(mistakes(odd), expected);
}
