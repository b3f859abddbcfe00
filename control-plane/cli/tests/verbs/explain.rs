mod modes;
mod money;
mod past;

use serde_json::{Value, json};

use crate::stub::{Stub, json_reply};

const NOW: &str = "GET /api/v1/deployments/sdxl/decision";

fn decision(tier: &str, reason: &str, count: u64) -> Value {
    json!({
        "deployment": "sdxl", "tier": tier, "reason": reason, "meanwhile": null, "current": tier,
        "inputs": {
            "count": count, "window_s": 300, "rps": count as f64 / 300.0, "promote_count": 60, "demote_count": 15,
            "basis": "rates", "hold_left_s": null, "observed": true, "forced": null, "local": "no GPU", "pod": "warm", "in_flight": 0,
            "since_transition_s": 95.5
        },
        "alternatives": [],
        "at": "2026-03-02T10:00:00Z"
    })
}

async fn explained(decision: &Value) -> String {
    let stub = Stub::start([(NOW, json_reply(200, decision))]).await;
    let ran = stub.run(&["explain", "sdxl"]).await;
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.out
}

#[tokio::test]
async fn a_warm_pod_is_explained_with_its_numbers() {
    let mut decision = decision("pod", "pod_warm", 72);
    decision["alternatives"] = json!([
        { "tier": "local", "reason": "no_memory" },
        { "tier": "serverless", "reason": "the pod is warm." }
    ]);
    let text = "\
sdxl is served by pod: a warm pod stays while the window holds 15 requests or more (rule `pod_warm`).
In the last 5m: 72 requests (0.24 per second); 60 or more promote to pod, fewer than 15 demote.
Next switch: 58 fewer within 5m demote it.
Not local: its memory floor does not fit into the free GPU memory.
Not serverless: the pod is warm.
Decided at 2026-03-02T10:00:00Z.
";
    assert_eq!(explained(&decision).await, text);
}

#[tokio::test]
async fn what_a_person_stopped_is_served_by_nobody() {
    let mut decision = decision("pod", "pod_warm", 72);
    decision["stopped"] = json!(true);
    let text = "\
sdxl was stopped by a person: its requests get 503 until somebody wakes it.
Then it would be served by pod: a warm pod stays while the window holds 15 requests or more (rule `pod_warm`).
In the last 5m: 72 requests (0.24 per second); 60 or more promote to pod, fewer than 15 demote.
Decided at 2026-03-02T10:00:00Z.
";
    assert_eq!(explained(&decision).await, text);
}

#[tokio::test]
async fn that_no_worker_of_the_fleet_can_serve_it_is_said_with_why() {
    let mut decision = decision("serverless", "below_promote", 3);
    decision["unserved"] = json!("no worker of the fleet has reported for 3m");
    let text = explained(&decision).await;
    let line = "But nobody can serve it there: no worker of the fleet has reported for 3m.";
    assert_eq!(text.lines().nth(1), Some(line), "{text}");
}

#[tokio::test]
async fn a_promotion_says_who_serves_meanwhile() {
    let mut decision = decision("pod", "promote", 60);
    decision["meanwhile"] = json!({ "tier": "serverless", "reason": "pod_booting" });
    let text = explained(&decision).await;
    assert!(text.contains(
        "Until pod can serve, serverless does: the pod is still booting (rule `pod_booting`).\n"
    ));
}

#[tokio::test]
async fn the_distance_to_the_next_switch_is_counted_in_requests() {
    let text = explained(&decision("serverless", "below_promote", 59)).await;
    assert!(
        text.contains("Next switch: the next request promotes it to pod.\n"),
        "{text}"
    );
    let text = explained(&decision("pod", "pod_warm", 15)).await;
    assert!(
        text.contains("Next switch: 1 fewer within 5m demotes it.\n"),
        "{text}"
    );
    let mut fractions = decision("serverless", "below_promote", 0);
    fractions["inputs"]["promote_count"] = json!(0.5);
    assert!(
        explained(&fractions)
            .await
            .contains("Next switch: the next request promotes it to pod.\n")
    );
}

#[tokio::test]
async fn a_demotion_that_waits_says_for_what() {
    let mut decision = decision("pod", "busy", 3);
    decision["inputs"]["in_flight"] = json!(2);
    let text = explained(&decision).await;
    assert!(
        text.contains("The rate asks for a demotion; it waits: 2 requests in flight.\n"),
        "{text}"
    );
    decision["reason"] = json!("unobserved");
    decision["inputs"]["observed"] = json!(false);
    let text = explained(&decision).await;
    assert!(
        text.contains("it waits: less than a whole window has been seen.\n"),
        "{text}"
    );
    assert!(
        text.contains("In the last 5m, not yet seen in full: 3 requests"),
        "{text}"
    );
    decision["reason"] = json!("hold");
    decision["inputs"]["hold_left_s"] = json!(42.0);
    let text = explained(&decision).await;
    assert!(
        text.contains("it waits: the last transition is too recent, for 42s more.\n"),
        "{text}"
    );
}

#[tokio::test]
async fn what_the_rate_does_not_decide_says_so() {
    let forced = explained(&decision("pod", "forced", 3)).await;
    assert!(
        forced.contains("Nothing else counts until `thermocline unforce sdxl`.\n"),
        "{forced}"
    );
    let dedicated = explained(&decision("dedicated", "dedicated", 3)).await;
    assert!(
        dedicated.contains("The request rate changes nothing here.\n"),
        "{dedicated}"
    );
    let local = explained(&decision("local", "local_fits", 1)).await;
    assert!(
        local.contains("GPU memory no longer holds it.\n") && local.contains("1 request ("),
        "{local}"
    );
    assert!(
        explained(&decision("pod", "from_the_future", 70))
            .await
            .contains("pod: rule `from_the_future`.")
    );
}

#[tokio::test]
async fn no_switch_is_promised_to_a_tier_that_it_lacks() {
    let mut decision = decision("serverless", "below_promote", 3);
    decision["inputs"]["tiers"] = json!(["serverless"]);
    let text = explained(&decision).await;
    assert!(
        !text.contains("promote to pod") && !text.contains("Next switch"),
        "{text}"
    );
    assert!(
        text.contains("The request rate changes nothing here.\n"),
        "{text}"
    );
    assert!(
        text.starts_with(
            "sdxl is served by serverless: there is no pod tier (rule `below_promote`).\n"
        ),
        "{text}"
    );
}

#[tokio::test]
async fn what_stops_a_pod_without_a_demotion_is_told_too() {
    let mut decision = decision("pod", "pod_warm", 72);
    decision["inputs"]["demote_count"] = json!(0);
    decision["costs"] = json!({
        "break_even": { "rps": null, "answer": "never" }, "tiers": [],
        "times": { "pod_idle_s": 600.0 },
    });
    let text = explained(&decision).await;
    assert!(
        text.contains("; 60 or more promote to pod, none demote.\n"),
        "{text}"
    );
    let stop = "10m without a request stop its pod at the latest, whatever the rate.\n";
    assert!(text.contains(stop), "{text}");
    decision["inputs"]["pod_pinned"] = json!(true);
    assert!(!explained(&decision).await.contains(stop));
}

#[tokio::test]
async fn a_pod_that_is_kept_is_not_said_to_go() {
    let mut decision = decision("pod", "pod_warm", 3);
    decision["inputs"]["tiers"] = json!(["serverless", "pod"]);
    decision["inputs"]["pod_pinned"] = json!(true);
    let text = explained(&decision).await;
    assert!(
        text.starts_with("sdxl is served by pod: a pod is kept (rule `pod_warm`).\n"),
        "{text}"
    );
    assert!(
        text.contains("`min_instances` keeps a pod.\n") && !text.contains("demote"),
        "{text}"
    );
}
