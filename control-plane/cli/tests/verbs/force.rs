use serde_json::json;

use crate::stub::{Stub, failed, json_reply, on_a_pod, problem, raw, said};

const PUT: &str = "PUT /api/v1/deployments/sdxl/forced";

#[tokio::test]
async fn force_names_the_tier() {
    let stub = Stub::start([(PUT, json_reply(200, &on_a_pod("sdxl")))]).await;
    let ran = stub.run(&["force", "sdxl", "--tier", "pod"]).await;
    assert_eq!(
        ran,
        said("sdxl is forced to pod until `thermocline unforce`\n")
    );
    assert_eq!(stub.calls()[0].json(), json!({ "tier": "pod" }));
}

#[tokio::test]
async fn force_for_a_time_says_and_sends_when_it_ends() {
    let stub = Stub::start([(PUT, json_reply(200, &on_a_pod("sdxl")))]).await;
    let ran = stub
        .run(&["force", "sdxl", "--tier", "serverless", "--for", "2h"])
        .await;
    let body = stub.calls()[0].json();
    let until = body["until"].as_str().unwrap();
    assert!(
        until.len() == "2026-03-02T10:00:00Z".len() && until.ends_with('Z'),
        "{until}"
    );
    assert_eq!(
        ran,
        said(&format!("sdxl is forced to serverless until {until}\n"))
    );
}

#[tokio::test]
async fn a_tier_that_it_lacks_is_refused() {
    let stub = Stub::start([(PUT, problem(409, "sdxl has no tier local"))]).await;
    let ran = stub.run(&["force", "sdxl", "--tier", "local"]).await;
    assert_eq!(ran, failed(3, "error: sdxl has no tier local\n"));
}

#[tokio::test]
async fn unforce_gives_it_back() {
    let stub = Stub::start([("DELETE /api/v1/deployments/sdxl/forced", raw(204, "", ""))]).await;
    assert_eq!(
        stub.run(&["unforce", "sdxl"]).await,
        said("sdxl is not forced\n")
    );
    assert_eq!(stub.run(&["unforce", "sdxl", "-o", "json"]).await, said(""));
}
