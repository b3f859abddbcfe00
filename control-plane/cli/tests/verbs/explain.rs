use serde_json::{Value, json};

use crate::stub::{Stub, failed, json_reply, list};

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

fn costs() -> Value {
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
