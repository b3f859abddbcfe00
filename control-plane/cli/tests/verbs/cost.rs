use serde_json::{Value, json};

use crate::stub::{Stub, json_reply};

fn costs() -> Value {
    json!({
        "from": "2026-03-01T10:00:00.000Z", "to": "2026-03-02T11:00:00.000Z",
        "total_usd": 3.5, "total_nano_usd": 3_500_000_000_u64, "idle_usd": 0.7,
        "items": [
            { "deployment": "sdxl", "tier": "pod", "provider": null, "hours": 2.0, "usd": 2.78, "idle_usd": 0.695, "nano_usd": 2_780_000_000_u64 },
            { "deployment": "sdxl", "tier": "serverless", "provider": null, "hours": 0.25, "usd": 0.72, "idle_usd": 0.0, "nano_usd": 720_000_000 }
        ],
        "what_if": [
            { "deployment": "sdxl", "arrivals": 900, "paid_usd": 3.5, "serverless_usd": 5.0, "pod_usd": 33.36, "optimum_usd": 3.2 }
        ],
        "next": null
    })
}

async fn ran(args: &[&str]) -> (String, String) {
    let stub = Stub::start([("GET /api/v1/costs", json_reply(200, &costs()))]).await;
    let ran = stub.run(args).await;
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    (ran.out, stub.lines().join("\n"))
}

#[tokio::test]
async fn what_was_paid_is_told_by_what_was_asked_for() {
    let (out, asked) = ran(&["cost"]).await;
    let table = "\
DEPLOYMENT   TIER         HOURS   USD    IDLE
sdxl         pod          2.00    2.78   25 %
sdxl         serverless   0.25    0.72   0 %

$3.50 since 2026-03-01T10:00:00.000Z, 20 % of it for time without a request in hand.
";
    assert_eq!(out, table);
    assert!(asked.contains("by=deployment%2Ctier"), "{asked}");
}

#[tokio::test]
async fn what_would_have_been_stands_beside_what_was_paid() {
    let (out, _) = ran(&["cost", "--what-if"]).await;
    assert!(
        out.contains("SERVERLESS ALONE") && out.contains("33.36"),
        "{out}"
    );
    assert!(!out.contains("Not compared"), "{out}");
    let (json, _) = ran(&["cost", "-o", "json"]).await;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["what_if"][0]["optimum_usd"], 3.2);
}

#[tokio::test]
async fn what_cannot_be_compared_is_named() {
    let mut costs = costs();
    let item = json!({
        "deployment": "whisper", "tier": "pod", "provider": null, "hours": 1.0, "usd": 1.39,
        "idle_usd": 0.0, "nano_usd": 1_390_000_000_u64
    });
    costs["items"].as_array_mut().unwrap().push(item);
    let stub = Stub::start([("GET /api/v1/costs", json_reply(200, &costs))]).await;
    let ran = stub.run(&["cost", "--what-if"]).await;
    assert!(
        ran.out.ends_with("or of a price of both: whisper.\n"),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn what_would_have_been_is_by_deployment_and_by_nothing_else() {
    let stub = Stub::start([]).await;
    let ran = stub.run(&["cost", "--what-if", "--by", "tier"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("cannot be used with"), "{}", ran.err);
}
