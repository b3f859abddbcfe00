//! What the live system says of money, on a clock that the test moves.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_policy::Tier;

use crate::at;
use crate::live::{Live, get, sample};

async fn costs(live: &Live, query: &str) -> Value {
    let path = format!("/costs{query}");
    let (status, body) = live.system.admin.call(Method::GET, &path, None).await;
    assert_eq!(status, 200, "{body}");
    body
}

/// One request a second from `from` to `to` seconds.
async fn traffic(live: &Live, from: u32, to: u32) {
    for second in from..to {
        live.pass_to(at(f64::from(second)), None).await;
        get(live.system.client().await).await;
    }
    live.pass_to(at(f64::from(to)), None).await;
}

fn item<'c>(costs: &'c Value, tier: &str) -> &'c Value {
    let items = costs["items"].as_array().unwrap();
    let found = items.iter().find(|item| item["tier"] == tier);
    found.unwrap_or_else(|| panic!("{tier} in {costs}"))
}

#[tokio::test]
async fn a_pod_costs_its_price_for_as_long_as_it_exists() {
    let live = Live::start("thresholds", 0.0).await;
    live.cloud.set_boot_of(Tier::Serverless, boot(1));
    live.ask().await;
    traffic(&live, 20, 400).await;
    let began = live.moves().await[0].0;
    live.pass_to(at(1_800.0), None).await;
    let demoted = live.moves().await[1].0;
    let ledger = costs(&live, "").await;
    let hours = item(&ledger, "pod")["hours"].as_f64().unwrap();
    let expected = (demoted - began) / 3600.0;
    assert!((hours / expected - 1.0).abs() < 0.02, "{hours} {expected}");
    let usd = item(&ledger, "pod")["usd"].as_f64().unwrap();
    assert!((usd - hours * 1.2).abs() < 1e-6, "{usd}");
    assert!(item(&ledger, "serverless")["usd"].as_f64().unwrap() > 0.0);
    let metrics = live.system.admin.metrics().await;
    let name = "thermocline_cost_usd_total{deployment=\"m\",tier=\"pod\",provider=\"toy\"}";
    assert!((sample(&metrics, name) - usd).abs() < 1e-6, "{metrics}");
}

#[tokio::test]
async fn the_ledger_knows_what_would_have_been_and_outlives_the_process() {
    let live = Live::start("break_even", 0.0).await;
    // Until both prices are known there is nothing to compare.
    live.pass_to(at(20.0), None).await;
    live.ask().await;
    traffic(&live, 60, 500).await;
    live.pass_to(at(600.0), None).await;
    let before = costs(&live, "").await;
    let what_if = &before["what_if"][0];
    let number = |key: &str| what_if[key].as_f64().unwrap();
    assert_eq!(what_if["arrivals"], 441);
    assert!(number("optimum_usd") > 0.0);
    assert_least(compared(&live).await);
    let live = live.restart().await;
    let after = costs(&live, "").await;
    assert!(after["total_nano_usd"].as_i64() >= before["total_nano_usd"].as_i64());
    let (_, decision) = live
        .system
        .admin
        .call(Method::GET, "/deployments/m/decision", None)
        .await;
    let measured = &decision["costs"]["times"]["measured"];
    assert!(measured["service"].as_u64() > Some(200), "{measured}");
    let (_, arrivals) = live
        .system
        .admin
        .call(Method::GET, "/costs/arrivals", None)
        .await;
    let counts = arrivals["items"].as_array().unwrap().iter();
    let sum: u64 = counts.map(|item| item["arrivals"].as_u64().unwrap()).sum();
    assert_eq!(sum, 441);
}

/// What stands in `what_if`, dollars: paid, serverless alone, pod alone, optimum.
async fn compared(live: &Live) -> [f64; 4] {
    let costs = costs(live, "").await;
    let what_if = &costs["what_if"][0];
    let columns = ["paid_usd", "serverless_usd", "pod_usd", "optimum_usd"];
    columns.map(|column| {
        what_if[column]
            .as_f64()
            .unwrap_or_else(|| panic!("{costs}"))
    })
}

/// The optimum is the least of all.
fn assert_least(compared: [f64; 4]) {
    let [paid, serverless, pod, optimum] = compared;
    assert!(optimum <= paid.min(serverless).min(pod), "{compared:?}");
}

#[tokio::test]
async fn serverless_alone_is_what_was_paid_where_nothing_else_served() {
    let live = Live::start("thresholds", 0.005).await;
    live.pass_to(at(20.0), None).await;
    live.ask().await;
    for i in 3..40 {
        live.pass_to(at(f64::from(i) * 21.3), None).await;
        get(live.system.client().await).await;
    }
    live.pass_to(at(900.0), None).await;
    assert_eq!(live.moves().await, []);
    let compared = compared(&live).await;
    assert_least(compared);
    let [paid, serverless, ..] = compared;
    assert!(
        paid > 0.0 && (paid - serverless).abs() < 1e-6,
        "{compared:?}"
    );
}

#[tokio::test]
async fn a_pod_alone_is_what_was_paid_where_a_pod_served() {
    let live = Live::start("thresholds", 0.0).await;
    live.cloud.set_boot_of(Tier::Pod, boot(5));
    let pod = json!({ "tiers": { "pod": { "min_instances": 1 } } });
    live.system.admin.patch("m", pod).await;
    live.pass_to(at(60.0), None).await;
    traffic(&live, 60, 400).await;
    live.pass_to(at(1_800.0), None).await;
    let compared = compared(&live).await;
    assert_least(compared);
    let [paid, _, pod, _] = compared;
    let slot = 1.2 / 360.0;
    assert!((paid - pod).abs() < 2.0 * slot, "{compared:?}");
}

#[tokio::test]
async fn bad_questions_about_costs_are_named() {
    let live = Live::start("thresholds", 0.0).await;
    for (query, field) in [
        ("?by=model", "by"),
        ("?from=yesterday", "from"),
        ("?to=1", "to"),
        ("?from=2030-01-01T00:00:00Z&to=2029-01-01T00:00:00Z", "from"),
    ] {
        let path = format!("/costs{query}");
        let (status, body) = live.system.admin.call(Method::GET, &path, None).await;
        assert_eq!(
            (status.as_u16(), body["code"].as_str()),
            (400, Some("bad_query")),
            "{query}"
        );
        assert!(body["detail"].as_str().unwrap().contains(field), "{body}");
    }
    let empty = costs(&live, "?by=provider").await;
    assert_eq!(
        (empty["total_usd"].as_f64(), &empty["items"]),
        (Some(0.0), &json!([]))
    );
}

#[tokio::test]
async fn a_decision_tells_what_each_tier_costs_and_an_objective_takes_a_pod() {
    let live = Live::start("thresholds", 0.0).await;
    live.ask().await;
    live.pass_to(at(100.0), None).await;
    let read = async || {
        live.system
            .admin
            .call(Method::GET, "/deployments/m/decision", None)
            .await
            .1
    };
    let decision = read().await;
    let costs = &decision["costs"];
    assert_eq!(costs["break_even"]["answer"], "at", "{costs}");
    assert!((costs["prices"]["pod_usd_per_hour"].as_f64().unwrap() - 1.2).abs() < 1e-9);
    assert_eq!(costs["tiers"].as_array().unwrap().len(), 2);
    assert_eq!(decision["tier"], "serverless");
    // Few requests, nearly all of them cold: serverless misses it.
    live.system
        .admin
        .patch("m", json!({ "objective": { "p95": "8s" } }))
        .await;
    live.pass_to(at(140.0), None).await;
    get(live.system.client().await).await;
    let decision = read().await;
    assert_eq!(decision["costs"]["objective"]["steers"], true, "{decision}");
    assert_eq!(decision["tier"], "pod");
}

fn boot(seconds: u64) -> thermocline_support::provider::Boot {
    thermocline_support::provider::Boot::After(Duration::from_secs(seconds))
}
