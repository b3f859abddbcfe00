//! Replays of what the server has counted itself.

use serde_json::{Value, json};

use crate::stub::{Stub, json_reply, problem};

/// What each of `items`, slots of ten seconds, had of arrivals.
fn arrivals(items: &Value) -> Value {
    json!({ "slot_s": 10, "next": null, "items": items })
}

/// What is known of a deployment that has `tiers`: a serverless second costs $0.001.
fn decision(tiers: &Value, pod_usd_per_hour: Option<f64>, pod_idle_s: Option<f64>) -> Value {
    json!({
        "inputs": { "tiers": tiers },
        "costs": {
            "prices": {
                "serverless_usd_per_s": 0.001,
                "pod_usd_per_hour": pod_usd_per_hour,
                "value_of_wait_usd_per_s": 0.0
            },
            "times": {
                "service_s": 1.0, "cold_start_s": 2.0, "billed_cold_share": 1.0, "boot_s": 5.0,
                "serverless_idle_s": 1.0, "concurrency": 4, "pod_idle_s": pod_idle_s,
                "window_s": 120.0
            },
            "objective": null
        }
    })
}

#[tokio::test]
async fn the_last_day_can_be_replayed_from_the_ledger() {
    let reply = arrivals(&json!([
        { "deployment": "b", "slot": 180_000_001, "arrivals": 4 },
        { "deployment": "a", "slot": 180_000_000, "arrivals": 2 },
    ]));
    let stub = Stub::start([
        ("GET /api/v1/costs/arrivals", json_reply(200, &reply)),
        ("GET /api/v1/deployments/a/decision", problem(404, "none")),
        ("GET /api/v1/deployments/b/decision", problem(404, "none")),
    ])
    .await;
    let ran = stub
        .run(&["simulate", "--from-ledger", "24h", "-o", "json"])
        .await;
    assert_eq!(ran.code, 0, "{}", ran.err);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["trace"]["arrivals"], 6);
    assert_eq!(json["deployments"][1]["trace"]["arrivals"], 4);
    // Nothing is known of either any more.
    assert!(ran.err.contains("a is no longer there"), "{}", ran.err);
    let too_long = stub.run(&["simulate", "--from-ledger", "30d"]).await;
    assert_eq!(too_long.code, 2);
}

#[tokio::test]
async fn each_deployment_of_the_ledger_has_its_own_prices_times_and_span() {
    let reply = arrivals(&json!([
        { "deployment": "a", "slot": 180_000_000, "arrivals": 1 },
        { "deployment": "b", "slot": 180_000_360, "arrivals": 1 },
        { "deployment": "b", "slot": 180_000_361, "arrivals": 1 },
    ]));
    let decision = decision(&json!(["serverless", "pod"]), Some(3.6), Some(60.0));
    let stub = Stub::start([
        ("GET /api/v1/costs/arrivals", json_reply(200, &reply)),
        ("GET /api/v1/deployments/a/decision", problem(404, "none")),
        (
            "GET /api/v1/deployments/b/decision",
            json_reply(200, &decision),
        ),
    ])
    .await;
    let args = ["simulate", "--from-ledger", "24h", "-o", "json"];
    let ran = stub.run(&[&args[..], &["--boot", "7s"]].concat()).await;
    assert_eq!(ran.code, 0, "{}", ran.err);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    let b = &json["deployments"][1];
    let assumed = &b["assumptions"];
    for (field, value) in [
        ("usd_per_hour", 3.6),
        ("cold_start_s", 2.0),
        ("window_s", 120.0),
    ] {
        assert_eq!(assumed[field], value, "{assumed}");
    }
    assert_eq!(assumed["boot_s"], 7.0, "a flag wins");
    assert_eq!(b["trace"]["span_s"], 10.0);
    // A cold start of 2 s, 1 s of work and 1 s idle, twice.
    assert_eq!(b["policies"][0]["cost_usd"], 0.008, "{b}");
    // Its pod is kept for 10 s and the work of the last request, not since a's.
    assert_eq!(b["policies"][1]["pod_hours"], 0.003056, "{b}");
    assert!(
        json["deployments"][0].get("assumptions").is_none(),
        "the general ones: {json}"
    );
}

#[tokio::test]
async fn a_policy_is_not_costed_for_a_tier_that_is_not_there() {
    let reply = arrivals(&json!([
        { "deployment": "a", "slot": 180_000_000, "arrivals": 1 },
    ]));
    let decision = decision(&json!(["local", "serverless"]), None, None);
    let stub = Stub::start([
        ("GET /api/v1/costs/arrivals", json_reply(200, &reply)),
        (
            "GET /api/v1/deployments/a/decision",
            json_reply(200, &decision),
        ),
    ])
    .await;
    let args = ["simulate", "--from-ledger", "24h"];
    let ran = stub.run(&args).await;
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let row = ran.out.lines().find(|line| line.starts_with("always:pod"));
    assert!(row.unwrap().contains("no pod tier"), "{}", ran.out);
    let ran = stub.run(&[&args[..], &["-o", "json"]].concat()).await;
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    let [serverless, pod, _, _, regret] = &json["policies"].as_array().unwrap()[..] else {
        panic!("{json}")
    };
    assert_eq!(
        (&pod["cost_usd"], &pod["lacks"]),
        (&Value::Null, &json!("pod"))
    );
    for policy in [serverless, regret] {
        assert_eq!(policy["cost_usd"], 0.004, "{policy}");
    }
    assert_eq!(json["optimum"]["cost_usd"], 0.004);
}

#[tokio::test]
async fn what_has_one_tier_is_left_out_of_the_sums_and_named() {
    let reply = arrivals(&json!([
        { "deployment": "both", "slot": 180_000_000, "arrivals": 1 },
        { "deployment": "no-pod", "slot": 180_000_000, "arrivals": 5 },
        { "deployment": "no-serverless", "slot": 180_000_000, "arrivals": 7 },
    ]));
    let known = |tiers: Value| json_reply(200, &decision(&tiers, Some(3.6), Some(60.0)));
    let stub = Stub::start([
        ("GET /api/v1/costs/arrivals", json_reply(200, &reply)),
        (
            "GET /api/v1/deployments/both/decision",
            known(json!(["serverless", "pod"])),
        ),
        (
            "GET /api/v1/deployments/no-pod/decision",
            known(json!(["serverless"])),
        ),
        (
            "GET /api/v1/deployments/no-serverless/decision",
            known(json!(["pod"])),
        ),
    ])
    .await;
    let args = ["simulate", "--from-ledger", "24h"];
    let ran = stub.run(&[&args[..], &["-o", "json"]].concat()).await;
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["left_out"], json!(["no-pod", "no-serverless"]));
    // A cold start of 2 s, 1 s of work and 1 s idle, once.
    assert_eq!(json["policies"][0]["cost_usd"], 0.004, "{json}");
    let [both, no_pod, no_serverless] = [0, 1, 2].map(|i| &json["deployments"][i]["policies"]);
    assert_eq!(json["policies"][1]["cost_usd"], both[1]["cost_usd"]);
    assert!(both[1]["cost_usd"].is_f64(), "{both}");
    assert_eq!(no_pod[1]["lacks"], "pod", "{no_pod}");
    assert_eq!(no_serverless[0]["lacks"], "serverless", "{no_serverless}");
    let ran = stub.run(&args).await;
    assert!(
        ran.out
            .contains("left out of these sums: no-pod, no-serverless.\n"),
        "{}",
        ran.out
    );
}
