//! What the modes say that weigh cost and latency.

use serde_json::{Value, json};

use super::money::costs;
use super::{decision, explained};

/// What mode `regret` says while it stays: no rate moves it.
fn by_regret(tier: &str, reason: &str) -> Value {
    let mut decision = decision(tier, reason, 7);
    decision["inputs"]["basis"] = json!("regret");
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
        "by pod: what serverless would have saved does not pay for a switch yet",
        "serverless would have saved $0.0500 of the $0.14",
        "Next switch: to serverless, once that would have saved $0.0900 more.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Enough has gathered, and something holds it.
    on_pod["reason"] = json!("busy");
    on_pod["costs"]["regret"]["saved_usd"] = json!(0.14);
    on_pod["inputs"]["demote_count"] = Value::Null;
    on_pod["inputs"]["in_flight"] = json!(1);
    let text = explained(&on_pod).await;
    for part in [
        "would have saved the $0.14 that a switch there and back costs, which is enough for one.",
        "Its cost asks for a demotion; it waits: 1 request in flight.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut promoted = by_regret("pod", "promote");
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
async fn a_pod_that_never_pays_is_not_told_in_regrets_words() {
    let mut decision = decision("serverless", "below_promote", 7);
    decision["inputs"]["basis"] = json!("never_pays");
    decision["inputs"]["promote_count"] = Value::Null;
    decision["inputs"]["demote_count"] = Value::Null;
    decision["costs"] = costs();
    decision["costs"]["break_even"] = json!({ "rps": null, "answer": "never" });
    decision["costs"]["regret"] = Value::Null;
    let text = explained(&decision).await;
    for part in [
        "by serverless: at these prices a pod never pays (rule `below_promote`).",
        "Next switch: none at these prices.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("would have saved"), "{text}");
}

#[tokio::test]
async fn an_objective_is_told_as_it_is() {
    let mut decision = by_regret("pod", "objective");
    decision["inputs"]["basis"] = json!("objective");
    decision["inputs"]["promote_count"] = json!(1);
    decision["costs"]["objective"] = json!({ "p95_s": 8.0, "steers": true });
    for (serverless, pod, says) in [
        (33.0, 3.1, "asks for a pod: serverless would miss it."),
        (
            7.5,
            3.1,
            "serverless would meet it now; it goes back once serverless would at 0.7 of the rate too",
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
    assert!(
        text.contains("is met by serverless at this rate."),
        "{text}"
    );
}

#[tokio::test]
async fn an_objective_that_waits_for_a_hold_says_so_and_no_pod_serves() {
    let mut decision = by_regret("serverless", "hold");
    decision["inputs"]["basis"] = json!("objective");
    decision["inputs"]["promote_count"] = json!(1);
    decision["inputs"]["hold_left_s"] = json!(25.0);
    decision["costs"]["objective"] = json!({ "p95_s": 2.0, "steers": true });
    let text = explained(&decision).await;
    for part in [
        "by serverless: the last transition is too recent, for 25s more (rule `hold`).",
        "within 2 s, asks for a pod: serverless would miss it.",
        "The objective asks for a pod; it waits: the last transition is too recent, for 25s more.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("a pod serves"), "{text}");
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
