use serde_json::{Value, json};

use crate::stub::{Stub, failed, json_reply, list};

const NOW: &str = "GET /api/v1/deployments/sdxl/decision";

fn decision(tier: &str, reason: &str, count: u64) -> Value {
    json!({
        "deployment": "sdxl", "tier": tier, "reason": reason, "meanwhile": null, "current": tier,
        "inputs": {
            "count": count, "window_s": 300, "rps": count as f64 / 300.0, "promote_count": 60, "demote_count": 15,
            "observed": true, "forced": null, "local": "no GPU", "pod": "warm", "in_flight": 0,
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
        text.contains("Next switch: 1 more within 5m promote it to pod.\n"),
        "{text}"
    );
    let text = explained(&decision("pod", "pod_warm", 15)).await;
    assert!(
        text.contains("Next switch: 1 fewer within 5m demote it.\n"),
        "{text}"
    );
    let mut fractions = decision("serverless", "below_promote", 0);
    fractions["inputs"]["promote_count"] = json!(0.5);
    assert!(
        explained(&fractions)
            .await
            .contains("Next switch: 1 more within 5m promote it to pod.\n")
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

#[tokio::test]
async fn a_decision_of_the_past_is_found_by_its_id() {
    let mut past = decision("serverless", "below_promote", 3);
    past["id"] = json!("01J");
    let stub = Stub::start([(
        "GET /api/v1/deployments/sdxl/decisions",
        list(&json!([past])),
    )])
    .await;
    let ran = stub.run(&["explain", "sdxl", "--decision", "01J"]).await;
    assert!(
        ran.out.starts_with("sdxl is served by serverless: "),
        "{ran:?}"
    );
    let json = stub
        .run(&["explain", "sdxl", "--decision", "01J", "-o", "json"])
        .await;
    assert_eq!(serde_json::from_str::<Value>(&json.out).unwrap(), past);
    let ran = stub.run(&["explain", "sdxl", "--decision", "01K"]).await;
    assert_eq!(ran, failed(4, "error: sdxl has no decision 01K\n"));
}

fn costs() -> Value {
    json!({
        "mode": "regret",
        "break_even": { "rps": 0.1, "answer": "at" },
        "tiers": [
            { "tier": "serverless", "usd_per_hour": 1.94, "p95_s": 33.02 },
            { "tier": "pod", "usd_per_hour": 1.39, "p95_s": 3.1 }
        ],
        "regret": { "saved_usd": 0.05, "switch_usd": 0.14 },
        "objective": { "p95_s": 8.0, "steers": true }
    })
}

#[tokio::test]
async fn a_decision_is_explained_in_money() {
    let mut decision = decision("serverless", "below_promote", 60);
    decision["inputs"]["promote_count"] = Value::Null;
    decision["inputs"]["demote_count"] = json!(0);
    decision["costs"] = costs();
    let text = "\
sdxl is served by serverless: a pod would not pay now (rule `below_promote`).
In the last 5m: 60 requests (0.20 per second).
At this rate serverless costs $1.94 an hour (95 of 100 answered within 33.0 s), pod costs $1.39 an hour (95 of 100 answered within 3.1 s).
They cost the same at 0.100 requests a second; it is above that.
Since the last switch the other tier would have saved $0.0500; switching costs $0.14; so it stays.
The objective, 95 of 100 within 8 s, asks for a pod: serverless would miss it.
Next switch: when the other tier would have saved what a switch costs.
Decided at 2026-03-02T10:00:00Z.
";
    assert_eq!(explained(&decision).await, text);
}

#[tokio::test]
async fn prices_that_leave_nothing_to_compare_are_said_to() {
    let mut decision = decision("serverless", "below_promote", 1);
    for (answer, words) in [
        ("never", "A pod is at no rate the cheaper one."),
        ("always", "A pod costs nothing"),
        (
            "pod_unpriced",
            "Without both prices the fixed thresholds hold.",
        ),
    ] {
        decision["costs"] = costs();
        decision["costs"]["break_even"] = json!({ "rps": null, "answer": answer });
        decision["costs"]["tiers"][1]["usd_per_hour"] = Value::Null;
        let text = explained(&decision).await;
        assert!(text.contains(words), "{text}");
        assert!(text.contains("pod has no known price"), "{text}");
    }
}

#[tokio::test]
async fn a_budget_says_what_is_spent_and_what_it_forbids() {
    let mut decision = decision("serverless", "budget", 72);
    decision["budget"] = json!({
        "usd_per_day": 15, "spent_today_usd": 14.5, "committed_usd_per_hour": 0.0,
        "resets_at": "2026-03-03T00:00:00Z",
        "serverless": { "brake": "off", "why": null },
        "pod": { "brake": "no_start", "why": "its budget of $15 a day" },
    });
    let text = explained(&decision).await;
    for line in [
        "sdxl is served by serverless: a budget or a ceiling says so (rule `budget`).\n",
        "Budget: $14.50 of $15.00 a day spent, pods commit to $0.00 an hour, and begins anew at 2026-03-03T00:00:00Z.\n",
        "No pod is started: its budget of $15 a day.\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}
