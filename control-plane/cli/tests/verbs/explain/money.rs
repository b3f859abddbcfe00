//! Decisions in money, and what budgets forbid.

use serde_json::{Value, json};

use super::{decision, explained};

pub(super) fn costs() -> Value {
    json!({
        "mode": "regret",
        "break_even": { "rps": 0.1, "answer": "at" },
        "tiers": [
            { "tier": "serverless", "usd_per_hour": 1.94, "p95_s": 33.02 },
            { "tier": "pod", "usd_per_hour": 1.39, "p95_s": 3.1 }
        ],
        "prices": { "serverless_usd_per_s": 0.00076, "pod_usd_per_hour": 1.39, "value_of_wait_usd_per_s": 0.0 },
        "times": {
            "window_s": 300.0, "service_s": 3.02, "pod_service_s": 2.5, "cold_start_s": 30.0, "boot_s": 150.0,
            "measured": { "service": 14, "serverless_service": 12, "pod_service": 2, "cold_start": 0, "boot": 1 }
        },
        "regret": { "saved_usd": 0.05, "switch_usd": 0.14, "to": "pod" },
        "objective": null
    })
}

#[tokio::test]
async fn a_decision_is_explained_in_money() {
    let mut decision = decision("serverless", "below_promote", 60);
    decision["inputs"]["basis"] = json!("regret");
    decision["inputs"]["promote_count"] = Value::Null;
    decision["inputs"]["demote_count"] = json!(0);
    decision["costs"] = costs();
    let text = "\
sdxl is served by serverless: what a pod would have saved does not pay for a switch yet (rule `below_promote`).
In the last 5m: 60 requests (0.20 per second).
Prices: a serverless worker $0.00076 a second, a pod $1.39 an hour.
Times: service on serverless 3s (12 measured), a cold start 30s (assumed), service on a pod 2s500ms (2 measured), a boot 2m30s (1 measured).
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
        "pod": {
            "brake": "no_start", "why": "its budget of $15 a day",
            "until": "2026-03-03T00:00:00Z, or a higher budget",
        },
    });
    let text = explained(&decision).await;
    for line in [
        "sdxl is served by serverless: no pod is started: its budget of $15 a day (rule `budget`).\n",
        "The rate asks for a pod; it waits: no pod is started: its budget of $15 a day.\n",
        "Budget: $14.50 of $15.00 a day spent, pods commit to $0.00 an hour, and begins anew at 2026-03-03T00:00:00Z.\n",
        "No pod is started: its budget of $15 a day. That lasts until 2026-03-03T00:00:00Z, or a higher budget.\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

/// Where only a budget stands in the way, the rate is not told to ask for anything.
#[tokio::test]
async fn a_budget_of_nothing_is_what_stands_in_the_way() {
    let mut decision = decision("serverless", "budget", 1);
    decision["budget"] = json!({
        "usd_per_day": 0, "spent_today_usd": 0.0, "committed_usd_per_hour": 0.0,
        "resets_at": "2026-03-03T00:00:00Z",
        "serverless": { "brake": "stop", "why": "its budget of $0 a day" },
        "pod": { "brake": "stop", "why": "its budget of $0 a day" },
    });
    let text = explained(&decision).await;
    for line in [
        "sdxl is served by nobody now, its requests get 503: serverless is stopped: its budget of $0 a day (rule `budget`).\n",
        "Next switch: none, the rate changes nothing while serverless is stopped: its budget of $0 a day.\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains("asks for a pod"), "{text}");
}
