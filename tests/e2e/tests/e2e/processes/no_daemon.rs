//! No Docker daemon: the local tier says so, the others go on, and nothing spins.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use thermocline_support::process::Setup;

#[tokio::test]
async fn the_local_tier_is_unavailable_with_its_reason_and_the_others_serve() {
    let server = Setup::new()
        .with_cloud("cold_start = \"1ms\"")
        .start()
        .await;
    let tiers = json!({ "local": {}, "serverless": { "provider": "toy" } });
    let spec = json!({ "name": "m", "image": "i", "tiers": tiers });
    server.admin.deploy(spec).await;
    let mut client = server.client().await;
    let answer = client.request("GET", "/d/m/").send().await.unwrap();
    assert_eq!(
        (answer.status, answer.header("x-thermocline-tier")),
        (200, Some("serverless"))
    );

    let (_, decision) = server
        .admin
        .call(Method::GET, "/deployments/m/decision", None)
        .await;
    let local = json!({ "tier": "local", "reason": "no_daemon" });
    assert!(
        decision["alternatives"]
            .as_array()
            .unwrap()
            .contains(&local),
        "{decision}"
    );
    let (_, providers) = server.admin.call(Method::GET, "/providers", None).await;
    let docker = &providers["items"][0];
    assert_eq!(
        (docker["name"].as_str(), docker["health"].as_str()),
        (Some("docker"), Some("unavailable"))
    );
    assert!(
        docker["last_error"].as_str().unwrap().contains("Docker"),
        "{docker}"
    );
}

#[tokio::test]
async fn a_deployment_that_is_local_alone_is_refused_with_the_reason() {
    let server = Setup::new().start().await;
    server
        .admin
        .deploy(json!({ "name": "m", "image": "i", "tiers": { "local": {} } }))
        .await;
    let mut client = server.client().await;
    let answer = client
        .request("GET", "/d/m/")
        .header("prefer", "wait=5")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(!answer.text().contains("Docker"), "{}", answer.text());
    assert!(answer.header("retry-after").is_some());
    let status = server.admin.wait_state("m", "failed").await;
    let reason = status["reason"].as_str().unwrap();
    assert!(reason.contains("Docker"), "the operator is told: {reason}");
}

#[tokio::test]
async fn an_idle_server_rests() {
    let server = Setup::new().with_cloud("").start().await;
    server
        .admin
        .deploy(json!({ "name": "m", "image": "i", "tiers": { "local": {} } }))
        .await;
    let before = server.cpu_time();
    let span = Duration::from_secs(5);
    rest(span).await;
    let used = server.cpu_time() - before;
    eprintln!("{used:?} of CPU in {span:?}");
    assert!(used < span / 100, "{used:?} of CPU in {span:?}");
}

#[allow(clippy::disallowed_methods)] // CPU time is measured over real time
async fn rest(span: Duration) {
    tokio::time::sleep(span).await;
}
