//! What is counted, and that no client makes it grow.

use reqwest::Method;
use serde_json::{Value, json};

use crate::scene::{SECOND, Scene, both_tiers, ok, pod};

fn series(metrics: &str) -> usize {
    metrics
        .lines()
        .filter(|line| !line.starts_with('#'))
        .count()
}

#[tokio::test]
async fn every_promised_name_is_there() {
    let scene = Scene::new(ok()).await;
    scene.deploy(both_tiers(), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    scene.system.admin.force("m", "pod").await;
    assert_eq!(scene.get().await.status, 200);
    scene.step(SECOND).await;
    let metrics = scene.system.admin.metrics().await;
    for sample in [
        r#"thermocline_requests_total{deployment="m",tier="pod",start="#,
        r#"thermocline_request_duration_seconds_count{deployment="m"} 2"#,
        r#"thermocline_queue_duration_seconds_count{deployment="m"} 2"#,
        r#"thermocline_inference_duration_seconds_count{deployment="m"} 2"#,
        r#"thermocline_client_disconnects_total{deployment="m"} 0"#,
        r#"thermocline_rps{deployment="m"}"#,
        r#"thermocline_in_flight{deployment="m"} 0"#,
        r#"thermocline_waiting{deployment="m"} 0"#,
        r#"thermocline_tier{deployment="m",tier="pod"} 1"#,
        r#"thermocline_tier_transitions_total{deployment="m",from="serverless",to="pod",reason="forced"} 1"#,
        r#"thermocline_cold_starts_total{deployment="m",tier="serverless",result="ok"} 1"#,
        r#"thermocline_cold_start_seconds_count{deployment="m"}"#,
        r#"thermocline_instances{provider="toy",tier="pod",state="ready"} 1"#,
        r#"thermocline_provider_calls_total{provider="toy",call="create",result="ok"} 2"#,
        r#"thermocline_orphans_total{provider="toy",action="deleted"} 0"#,
    ] {
        assert!(
            metrics.contains(sample),
            "{sample} is missing in\n{metrics}"
        );
    }
}

#[tokio::test]
async fn b44_what_clients_invent_makes_no_series() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("10m"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    scene.step(SECOND).await;
    let before = series(&scene.system.admin.metrics().await);
    let mut client = scene.system.client().await;
    for i in 0..10_000u32 {
        let (method, path) = match i % 3 {
            0 => ("GET", format!("/d/unknown-{i}/x")),
            1 => ("POST", format!("/path/{i}")),
            _ => ("PURGE", format!("/d/u{i}")),
        };
        let request = client.request(method, &path);
        let response = request
            .header("host", format!("h{i}.test"))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status, 404, "{method} {path}");
    }
    let after = series(&scene.system.admin.metrics().await);
    assert!(after <= before + 5, "{before} → {after}");
}

#[tokio::test]
async fn b44_deployments_that_are_gone_leave_no_series() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("10m"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    scene.step(SECOND).await;
    let before = series(&scene.system.admin.metrics().await);
    for hundred in 0..10 {
        let spec =
            |i| json!({ "name": format!("t{hundred}-{i}"), "image": "i:1", "tiers": pod("60s") });
        let items: Vec<Value> = (0..100).map(spec).collect();
        let body = json!({ "items": items });
        let admin = &scene.system.admin;
        assert_eq!(
            admin.call(Method::PUT, "/deployments", Some(&body)).await.0,
            200
        );
        for i in 0..100 {
            let path = format!("/deployments/t{hundred}-{i}");
            assert_eq!(scene.admin(Method::DELETE, &path).await.0, 202);
        }
    }
    let only_one = async || {
        let (_, list) = scene.admin(Method::GET, "/deployments").await;
        list["items"].as_array().unwrap().len() == 1
    };
    scene.until(SECOND, only_one).await;
    let metrics = scene.system.admin.metrics().await;
    let after = series(&metrics);
    assert!(after.abs_diff(before) <= 5, "{before} → {after}");
    assert!(metrics.contains(r#"thermocline_tier{deployment="m",tier="pod"} 1"#));
}
