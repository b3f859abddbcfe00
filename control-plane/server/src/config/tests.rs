use serde_json::json;

use super::*;

fn mistakes(document: Value) -> Vec<String> {
    match Config::read(&document) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().map(|e| e.field).collect(),
    }
}

#[test]
fn the_broker_is_in_memory_or_a_rabbitmq_and_its_password_is_never_told() {
    let read = |broker: Value| Config::read(&json!({ "broker": broker }));
    let config = |broker: Value| read(broker).unwrap().broker;
    assert_eq!(
        Config::read(&json!({})).unwrap().broker,
        BrokerConfig::Memory
    );
    assert_eq!(config(json!({ "url": "memory://" })), BrokerConfig::Memory);
    let at = config(json!({ "url": "amqps://me:s3cret@rabbit/fleet" }));
    assert_eq!(format!("{at:?}"), "RabbitMq(amqps://rabbit:5671)");
    let env = config(json!({ "url_env": "BROKER_URL" }));
    assert_eq!(env, BrokerConfig::Env("BROKER_URL".into()));
    let told = read(json!({ "url": "http://me:s3cret@rabbit" }))
        .unwrap_err()
        .to_string();
    assert!(
        told.contains("broker.url") && !told.contains("s3cret"),
        "{told}"
    );
    let both = json!({ "url": "memory://", "url_file": "url" });
    let told = read(both).unwrap_err().to_string();
    assert!(told.contains("broker.url_file: excludes url"), "{told}");
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
        "sotre": {},
    }));
    for key in [
        "request.listen",
        "request.auth",
        "request.x",
        "policy.demote_rps",
        "policy.window",
        "sotre",
    ] {
        assert!(found.iter().any(|f| f == key), "{key} in {found:?}");
    }
    assert_eq!(found.len(), 6, "{found:?}");
}

#[test]
fn the_key_of_the_secrets_is_beside_the_store_unless_a_file_is_named() {
    let nothing = Config::read(&json!({})).unwrap();
    assert_eq!(nothing.secrets_key_file, None);
    let named = Config::read(&json!({ "secrets": { "key_file": "/k" } })).unwrap();
    assert_eq!(named.secrets_key_file.as_deref(), Some("/k"));
    let found = mistakes(json!({ "secrets": { "key_fil": "/k", "key_file": 7 } }));
    assert_eq!(found, ["secrets.key_file", "secrets.key_fil"]);
}

#[test]
fn a_mode_and_the_value_of_waiting_are_inherited() {
    let policy = json!({ "mode": "regret", "value_of_wait_usd_per_s": 0.005 });
    let config = Config::read(&json!({ "policy": policy })).unwrap();
    assert_eq!(config.defaults.mode, PolicyMode::Regret);
    assert_eq!(config.defaults.value_of_wait.as_usd(), 0.005);
    for (key, value) in [
        ("mode", json!("greedy")),
        ("value_of_wait_usd_per_s", json!(-1)),
    ] {
        let found = mistakes(json!({ "policy": { key: value } }));
        assert_eq!(found, [format!("policy.{key}")]);
    }
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

#[test]
fn the_fleet_has_its_defaults_and_every_mistake_is_reported() {
    let nothing = Config::read(&json!({})).unwrap().fleet;
    assert_eq!(nothing, FleetConfig::default());
    let fleet = json!({
        "listen": "0.0.0.0:8082", "advertise": "https://gw:8082", "max_payload": "1MiB",
        "workers": { "a": { "token_env": "A", "may_pull": ["team-*", "m"] } },
        "dead_letters": { "keep": 5, "keep_for": "1h" },
        "pool": "workers", "autoscale": { "target": 0.5, "gpu_budget": 8 },
    });
    let fleet = Config::read(&json!({ "fleet": fleet })).unwrap().fleet;
    assert!(fleet.given && fleet.max_payload == 1 << 20);
    assert_eq!(fleet.dead_letters.limits.letters, 5);
    let pool = fleet.pool.unwrap();
    assert_eq!(
        (&*pool.deployment, pool.target, pool.gpu_budget),
        ("workers", 0.5, Some(8))
    );
    assert_eq!(fleet.dead_letters.limits.payload_bytes, 256 << 20);
    assert_eq!(fleet.advertise.as_deref(), Some("https://gw:8082"));
    assert_eq!(fleet.workers[0].may_pull, ["team-*", "m"]);
    let found = mistakes(json!({ "fleet": {
        "listen": "0.0.0.0:1", "advertise": "gw", "max_parked": 0, "x": 1,
        "workers": { "A": {}, "b": {}, "c": { "token_env": "C", "may_pull": ["a*b"] } },
        "dead_letters": { "keep": 0, "max_payload": "big", "replays": 1 },
        "autoscale": { "target": 1.5, "clear_within": "0s" },
    } }));
    let mut expected = [
        "fleet.advertise",
        "fleet.autoscale",
        "fleet.autoscale.clear_within",
        "fleet.autoscale.target",
        "fleet.dead_letters.keep",
        "fleet.dead_letters.max_payload",
        "fleet.dead_letters.replays",
        "fleet.max_parked",
        "fleet.workers.A",
        "fleet.workers.b.token_env",
        "fleet.workers.c.may_pull[0]",
        "fleet.x",
    ];
    let mut found: Vec<String> = found;
    found.sort();
    expected.sort_unstable();
    assert_eq!(found, expected);
    let open = mistakes(json!({ "fleet": { "listen": "0.0.0.0:8082" } }));
    assert_eq!(open, ["fleet.listen"]);
}

#[test]
fn a_limit_of_nought_is_none() {
    let budget = |section: Value| Config::read(&json!({ "budget": section })).unwrap().budget;
    let none = budget(json!({ "usd_per_hour": 0, "instances": 0 }));
    assert_eq!((none.usd_per_hour, none.instances), (None, None));
    assert_eq!(none, budget(json!({})));
    let some = budget(json!({ "usd_per_hour": 2.5, "instances": 3, "assumed_usd_per_hour": 1 }));
    assert_eq!(some.usd_per_hour.map(|usd| usd.as_usd()), Some(2.5));
    assert_eq!(some.instances, Some(3));
    let found =
        mistakes(json!({ "budget": { "usd_per_hour": -1, "instances": 0.5, "usd_per_day": 1 } }));
    for key in [
        "budget.usd_per_hour",
        "budget.instances",
        "budget.usd_per_day",
    ] {
        assert!(found.iter().any(|f| f == key), "{key} in {found:?}");
    }
}
