//! Decisions of the past.

use serde_json::{Value, json};

use super::{decision, explained};
use crate::stub::{Stub, failed, list};

fn past(id: &str, from: &str, to: &str, reason: &str, count: u64) -> Value {
    let now = decision(to, reason, count);
    json!({
        "id": id, "at": now["at"], "deployment": "sdxl", "from": from, "to": to, "reason": reason,
        "refused": false, "inputs": now["inputs"], "costs": null,
    })
}

/// The first line of what is said of a decision of the past.
async fn recalled(past: &Value) -> String {
    let items = list(&json!([past]));
    let stub = Stub::start([("GET /api/v1/deployments/sdxl/decisions", items)]).await;
    let id = past["id"].as_str().unwrap();
    let ran = stub.run(&["explain", "sdxl", "--decision", id]).await;
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.out.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn what_was_refused_did_not_happen() {
    let mut refused = past("7", "serverless", "pod", "budget", 72);
    refused["refused"] = json!(true);
    assert_eq!(
        recalled(&refused).await,
        "sdxl stayed on serverless and was not moved to pod: a budget or a ceiling says so (rule `budget`)."
    );
    refused["reason"] = json!("hold");
    refused["inputs"]["hold_left_s"] = json!(30.0);
    assert_eq!(
        recalled(&refused).await,
        "sdxl stayed on serverless and was not moved to pod: the last transition is too recent, for 30s more (rule `hold`)."
    );
}

#[tokio::test]
async fn what_was_done_is_told_by_whom_it_was_asked_for() {
    let mut moved = past("7", "serverless", "pod", "objective", 7);
    moved["inputs"]["basis"] = json!("objective");
    assert_eq!(
        recalled(&moved).await,
        "sdxl moved from serverless to pod: the objective asks for a pod (rule `objective`)."
    );
    let mut back = past("7", "pod", "serverless", "below_promote", 7);
    for (basis, why) in [
        ("regret", "serverless would have saved what a switch costs"),
        ("never_pays", "at these prices a pod never pays"),
        ("rates", "the window held fewer than 15 requests"),
    ] {
        back["inputs"]["basis"] = json!(basis);
        let text = format!("sdxl moved from pod to serverless: {why} (rule `below_promote`).");
        assert_eq!(recalled(&back).await, text);
    }
    let idle = past("7", "pod", "serverless", "idle", 70);
    assert_eq!(
        recalled(&idle).await,
        "The pod of sdxl stopped for want of work, and serverless would serve (rule `idle`)."
    );
}

#[tokio::test]
async fn after_an_idle_stop_nothing_serves_and_nothing_boots() {
    let mut idle = decision("serverless", "idle", 70);
    idle["inputs"]["basis"] = json!("break_even");
    idle["idle_stop"] = json!({ "tier": "pod", "at": "2026-03-02T09:55:00Z" });
    idle["alternatives"] = json!([{ "tier": "pod", "reason": "idle" }]);
    let text = explained(&idle).await;
    for part in [
        "sdxl is served by serverless: its pod stopped for want of work, and nothing has come since (rule `idle`).\n",
        "Its pod stopped at 2026-03-02T09:55:00Z.\n",
        "Next switch: the next request promotes it to pod.\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("boot"), "{text}");
    let mut alone = decision("pod", "no_serverless", 3);
    alone["idle_stop"] = json!({ "tier": "pod", "at": "2026-03-02T09:55:00Z" });
    let text = explained(&alone).await;
    let part = "Nothing of it runs: its pod stopped at 2026-03-02T09:55:00Z for want of work. The next request starts it again.\n";
    assert!(text.contains(part), "{text}");
}

#[tokio::test]
async fn a_decision_of_the_past_is_found_by_its_id() {
    let past = past("01J", "pod", "serverless", "below_promote", 3);
    let stub = Stub::start([(
        "GET /api/v1/deployments/sdxl/decisions",
        list(&json!([past])),
    )])
    .await;
    let ran = stub.run(&["explain", "sdxl", "--decision", "01J"]).await;
    let text = "\
sdxl moved from pod to serverless: the window held fewer than 15 requests (rule `below_promote`).
In the last 5m: 3 requests (0.01 per second); 60 or more promote to pod, fewer than 15 demote.
Decided at 2026-03-02T10:00:00Z.
";
    assert_eq!(ran.out, text);
    let json = stub
        .run(&["explain", "sdxl", "--decision", "01J", "-o", "json"])
        .await;
    assert_eq!(serde_json::from_str::<Value>(&json.out).unwrap(), past);
    let ran = stub.run(&["explain", "sdxl", "--decision", "01K"]).await;
    assert_eq!(ran, failed(4, "error: sdxl has no decision 01K\n"));
}
