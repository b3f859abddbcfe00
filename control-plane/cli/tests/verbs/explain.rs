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
        "times": { "window_s": 300.0 },
        "regret": { "saved_usd": 0.05, "switch_usd": 0.14, "to": "pod" },
        "objective": null
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
Since the last switch pod would have saved $0.0500 of the $0.14 that a switch there and back costs, so it stays.
Next switch: to pod, once that would have saved $0.0900 more.
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

/// What mode `regret` says while it stays: no rate moves it.
fn by_regret(tier: &str, reason: &str) -> Value {
    let mut decision = decision(tier, reason, 7);
    decision["inputs"]["promote_count"] = Value::Null;
    decision["inputs"]["demote_count"] = json!(0);
    decision["costs"] = costs();
    let other = if tier == "pod" { "serverless" } else { "pod" };
    decision["costs"]["regret"]["to"] = json!(other);
    decision
}

#[tokio::test]
async fn regret_is_told_in_dollars_and_in_both_directions() {
    let mut on_pod = by_regret("pod", "pod_warm");
    let text = explained(&on_pod).await;
    for part in [
        "by pod: going back to serverless would not pay now",
        "serverless would have saved $0.0500 of the $0.14",
        "Next switch: to serverless, once that would have saved $0.0900 more.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Enough has gathered, and something holds it.
    on_pod["costs"]["regret"]["saved_usd"] = json!(0.14);
    on_pod["inputs"]["demote_count"] = Value::Null;
    on_pod["inputs"]["in_flight"] = json!(1);
    let text = explained(&on_pod).await;
    for part in [
        "would have saved the $0.14 that a switch there and back costs, so it switches to serverless.",
        "Its cost asks for a demotion; it waits: 1 request in flight.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The slot in which it moved is not over yet.
    let mut promoted = by_regret("pod", "promote");
    promoted["costs"]["regret"] = json!({ "saved_usd": 0.14, "switch_usd": 0.14, "to": "pod" });
    let text = explained(&promoted).await;
    for part in [
        "It switched to pod, which",
        "Next switch: back to serverless, once",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    promoted["inputs"]["promote_count"] = json!(0);
    promoted["costs"] = Value::Null;
    let text = explained(&promoted).await;
    assert!(
        text.contains("a pod would have saved what a switch costs (rule `promote`)"),
        "{text}"
    );
    for text in [explained(&on_pod).await, text] {
        for nonsense in ["0 or more", "fewer than 0", "below zero", "184467"] {
            assert!(!text.contains(nonsense), "{nonsense}: {text}");
        }
    }
}

#[tokio::test]
async fn an_objective_is_told_as_it_is() {
    let mut decision = by_regret("pod", "pod_warm");
    decision["inputs"]["promote_count"] = json!(1);
    decision["costs"]["objective"] = json!({ "p95_s": 8.0, "steers": true });
    for (serverless, pod, says) in [
        (33.0, 3.1, "asks for a pod: serverless would miss it."),
        (
            7.5,
            3.1,
            "serverless would meet it at this rate, but not yet at 0.7 of it",
        ),
        (
            33.0,
            9.0,
            "is met by neither tier; a pod serves, which is the faster one.",
        ),
    ] {
        decision["costs"]["tiers"][0]["p95_s"] = json!(serverless);
        decision["costs"]["tiers"][1]["p95_s"] = json!(pod);
        let text = explained(&decision).await;
        assert!(text.contains(says), "{says}: {text}");
        let next = "Next switch: back to serverless once that would meet the objective";
        assert!(text.contains(next), "{text}");
        assert!(
            !text.contains("would have saved"),
            "money does not move it: {text}"
        );
    }
    decision["costs"]["objective"]["steers"] = json!(false);
    decision["costs"]["tiers"][0]["p95_s"] = json!(4.0);
    let text = explained(&decision).await;
    assert!(text.contains("is met by serverless too."), "{text}");
}

#[tokio::test]
async fn a_widened_window_and_silence_are_explained() {
    let mut decision = decision("serverless", "below_promote", 0);
    decision["inputs"]["window_s"] = json!(744.801_61);
    decision["costs"] = costs();
    decision["costs"]["regret"] = Value::Null;
    let text = explained(&decision).await;
    for part in [
        "In the last 12m25s: 0 requests",
        "The window is widened from 5m, so that it holds enough requests",
        "Without requests serverless costs",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
