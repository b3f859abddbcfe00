use serde_json::json;

use super::*;

fn mistakes(document: Value) -> Vec<String> {
    match Config::read(&document) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().map(|e| e.field).collect(),
    }
}

#[test]
fn nothing_gives_every_default() {
    let config = Config::read(&json!({})).unwrap();
    assert_eq!(config.request_listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.admin_listen.to_string(), "127.0.0.1:8081");
    assert_eq!(config.defaults, Defaults::default());
    assert!(config.outbound.dedicated && !config.outbound.payload);
}

#[test]
fn every_mistake_is_reported_with_its_key() {
    let found = mistakes(json!({
        "request": { "listen": "here", "auth": "maybe", "x": 1 },
        "policy": { "promote_rps": 0.1, "demote_rps": 0.1, "window": 300 },
        "providers": { "toy": { "kind": "sim", "pod_bot": "3s" }, "a b": {}, "acme": { "kind": "plugin" } },
        "sotre": {},
    }));
    for key in [
        "request.listen",
        "request.auth",
        "request.x",
        "policy.demote_rps",
        "policy.window",
        "providers.toy.pod_bot",
        "providers.a b",
        "providers.acme.url",
        "sotre",
    ] {
        assert!(found.iter().any(|f| f == key), "{key} in {found:?}");
    }
    assert_eq!(found.len(), 9, "{found:?}");
}

#[test]
fn b34_every_duration_needs_a_unit() {
    let places = [
        ("policy", "window"),
        ("policy", "hold"),
        ("cold_start", "max_wait"),
        ("limits", "deadline"),
        ("limits", "first_byte"),
        ("limits", "idle"),
        ("drain", "grace"),
    ];
    for (section, key) in places {
        assert!(
            mistakes(json!({ section: { key: "1m30s" } })).is_empty(),
            "{section}.{key}"
        );
        for bad in [
            json!(20),
            json!("20"),
            json!("-5s"),
            json!("1e3"),
            json!(""),
        ] {
            assert_eq!(
                mistakes(json!({ section: { key: bad } })),
                [format!("{section}.{key}")]
            );
        }
    }
}
