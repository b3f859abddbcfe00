use serde_json::{Value, json};
use thermocline_policy::{Defaults, PolicyMode, Tier};

use super::{spec_from_json, spec_to_json};
use crate::documents;

fn errors(value: &Value) -> Vec<String> {
    match spec_from_json(value, &Defaults::default()) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().map(|e| e.to_string()).collect(),
    }
}

fn fields(value: &Value) -> Vec<String> {
    errors(value)
        .into_iter()
        .map(|e| e.split(':').next().unwrap_or_default().to_owned())
        .collect()
}

fn minimal() -> Value {
    json!({ "name": "m", "tiers": { "dedicated": { "url": "http://127.0.0.1:9000" } } })
}

fn with(path: &str, value: Value) -> Value {
    let mut spec = minimal();
    let mut at = &mut spec;
    for key in path.split('.') {
        at = &mut at[key];
    }
    *at = value;
    spec
}

const SAMPLE: &str = r#"
name: sdxl
image: ghcr.io/acme/sdxl:1.4
port: 8000
env: { STEPS: "30", HF_TOKEN: { secret: hf } }
resources: { vram: 11GiB, gpus: 1, cpus: 4, memory: 16GiB }
health:
  ready: { path: /ready, status: [200], initializing: [204], successes: 1, interval: 1s }
  start_timeout: 10m
  live: { path: /ready, interval: 10s, failures: 3 }
tiers:
  local: { max_instances: 1, idle_timeout: 5m }
  serverless: { provider: runpod, gpu: [ADA_24], max_workers: 3, idle_timeout: 30s, queue_delay: 4s }
  pod: { provider: runpod, gpu: ["NVIDIA L4"], min_instances: 0, max_instances: 2, idle_timeout: 10m }
policy: { mode: thresholds, promote_rps: 0.2, demote_rps: 0.05, hold: 0s }
concurrency: { strategy: shared, workers: 1, load: once, selection: round_robin, max_concurrency: 64, queue: 32 }
cold_start: { max_wait: 120s, max_pending: 200 }
limits: { deadline: 10m, first_byte: 5m, idle: 60s, max_body: 0 }
objective: { p95: 8s }
budget: { usd_per_day: 15 }
routes: { hosts: [SDXL.example.com], aliases: [sdxl-turbo] }
activity: { ignore: ["^/ws$"] }
forced: { tier: pod, until: 2026-12-01T00:00:00Z }
"#;

#[test]
fn the_whole_specification_reads_and_reads_back() {
    let sample = &documents(SAMPLE).unwrap()[0];
    let spec = spec_from_json(sample, &Defaults::default()).unwrap();
    assert_eq!(spec.forced.as_ref().unwrap().tier, Tier::Pod);
    assert_eq!(spec.routes.hosts, ["sdxl.example.com"]);
    let written = spec_to_json(&spec);
    assert_eq!(written["cold_start"]["max_wait"], "2m");
    assert_eq!(spec_from_json(&written, &Defaults::default()), Ok(spec));
}

#[test]
fn what_only_the_fleet_heeds_reads_back_and_is_a_mistake_elsewhere() {
    let mut spec = minimal();
    spec["image"] = json!("i");
    spec["tiers"] = json!({ "serverless": {
        "provider": "fleet", "pinned": true, "preemptible": true, "shape": "cpu", "max_attempts": 5,
    } });
    spec["concurrency"] = json!({ "restart_on_error": true });
    let read = spec_from_json(&spec, &Defaults::default()).unwrap();
    let written = spec_to_json(&read);
    assert_eq!(written["tiers"]["serverless"]["shape"], "cpu");
    assert_eq!(spec_from_json(&written, &Defaults::default()), Ok(read));
    spec["tiers"]["serverless"]["provider"] = json!("runpod");
    let expected = ["pinned", "preemptible", "shape", "max_attempts"];
    let mut expected = expected
        .map(|field| format!("tiers.serverless.{field}"))
        .to_vec();
    expected.push("concurrency.restart_on_error".to_owned());
    assert_eq!(fields(&spec), expected);
}

#[test]
fn a_minimal_specification_reads_back() {
    let spec = spec_from_json(&minimal(), &Defaults::default()).unwrap();
    let again = spec_from_json(&spec_to_json(&spec), &Defaults::default());
    assert_eq!(again, Ok(spec));
}

#[test]
fn every_mistake_is_listed_with_its_path() {
    let spec = json!({
        "name": "A/b", "imge": "x", "port": "80",
        "tiers": { "podd": {}, "serverless": { "max_workers": 0 } },
        "policy": { "promote_rsp": 2, "promote_rps": -2.5, "hold": 20 },
    });
    let expected = [
        "port",
        "tiers.serverless.provider",
        "tiers.serverless.max_workers",
        "tiers.podd",
        "policy.promote_rps",
        "policy.hold",
        "policy.promote_rsp",
        "imge",
        "name",
        "image",
    ];
    assert_eq!(fields(&spec), expected);
}

#[test]
fn b35_a_typo_names_the_key_and_what_is_allowed() {
    let wrong = errors(&with("policy.promote_rsp", json!(1)));
    assert_eq!(
        wrong,
        [
            "policy.promote_rsp: is not known here; allowed: mode, window, promote_rps, demote_rps, hold"
        ]
    );
    let wrong = errors(&with("tiers.podd", json!({})));
    assert_eq!(
        wrong,
        ["tiers.podd: is not known here; allowed: dedicated, local, serverless, pod"]
    );
}

#[test]
fn b34_every_duration_is_a_text_with_a_unit() {
    let durations = [
        "policy.hold",
        "policy.window",
        "cold_start.max_wait",
        "limits.deadline",
        "limits.first_byte",
        "limits.idle",
        "objective.p95",
        "health.start_timeout",
        "health.ready.interval",
        "health.live.interval",
        "tiers.local.idle_timeout",
        "tiers.serverless.idle_timeout",
        "tiers.serverless.queue_delay",
        "tiers.pod.idle_timeout",
    ];
    for path in durations {
        for good in ["20s", "1m30s"] {
            let wrong = fields(&with(path, json!(good)));
            assert!(!wrong.iter().any(|f| f == path), "{path} {good}: {wrong:?}");
        }
        for bad in [
            json!(20),
            json!("20"),
            json!("0"),
            json!("-5s"),
            json!("1e3"),
            json!(""),
        ] {
            let wrong = fields(&with(path, bad.clone()));
            assert!(wrong.iter().any(|f| f == path), "{path} {bad}");
        }
    }
}

#[test]
fn b36_thresholds_that_make_no_sense_are_refused() {
    for (path, value) in [
        ("policy.promote_rps", json!(-2.5)),
        ("policy.promote_rps", json!(0)),
        ("policy.promote_rps", json!("2")),
        ("policy.demote_rps", json!(0.2)),
        ("policy.demote_rps", json!(5)),
        ("policy.mode", json!("greedy")),
        ("concurrency.max_concurrency", json!(0)),
        ("concurrency.workers", json!(0)),
        ("name", json!("")),
        ("name", json!("..")),
        ("name", json!(7)),
    ] {
        assert_eq!(fields(&with(path, value.clone())), [path], "{path} {value}");
    }
    let no_default = json!({ "promote_rps": 0, "demote_rps": 5 });
    assert_eq!(fields(&with("policy", no_default)), ["policy.promote_rps"]);
    for value in [json!(-2.5), json!(0)] {
        let wrong = errors(&with("policy.promote_rps", value));
        assert_eq!(
            wrong,
            ["policy.promote_rps: must be a finite number above 0"]
        );
    }
    // One mistake among others, with its field.
    assert_eq!(documents("a: .inf").unwrap(), [json!({ "a": ".inf" })]);
    assert_eq!(documents("a: .nan").unwrap(), [json!({ "a": ".nan" })]);
}

#[test]
fn every_mode_is_read_and_written_back() {
    for mode in PolicyMode::ALL {
        let document = with("policy.mode", json!(mode.as_str()));
        let spec = spec_from_json(&document, &Defaults::default()).unwrap();
        assert_eq!(spec.policy.mode, Some(mode));
        assert_eq!(spec_to_json(&spec)["policy"]["mode"], mode.as_str());
    }
}

#[test]
fn urls_are_plain_and_never_link_local() {
    for url in [
        "ftp://x",
        "http://u:p@x",
        "http://x/path",
        "http://x?q",
        "x",
        "file:///etc/passwd",
        "http://169.254.169.254",
        "http://[fe80::1]",
        "http://0xa9fea9fe",
    ] {
        assert_eq!(
            fields(&with("tiers.dedicated.url", json!(url))),
            ["tiers.dedicated.url"],
            "{url}"
        );
    }
    for url in [
        "http://gpu-7.internal:8000",
        "https://x.example",
        "http://127.0.0.1:1/",
    ] {
        assert!(
            errors(&with("tiers.dedicated.url", json!(url))).is_empty(),
            "{url}"
        );
    }
}

#[test]
fn wrong_types_are_mistakes_not_panics() {
    for value in [json!(null), json!(1), json!("x"), json!([]), json!({})] {
        let keys: Vec<String> = documents(SAMPLE).unwrap()[0]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        for key in keys {
            let _ = errors(&with(&key, value.clone()));
        }
    }
    assert_eq!(fields(&json!([])), ["document"]);
}
