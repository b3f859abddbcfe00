//! The shared fleet as REST and metrics show it.

use reqwest::Method;
use serde_json::json;
use thermocline_support::fleet::FakeFleet;
use thermocline_support::system::{Setup, manual_clock};

#[tokio::test]
async fn workers_and_queues_are_shown_as_they_were_last_seen() {
    let fleet = FakeFleet::default();
    fleet.queue("m", 3);
    fleet.worker("w1", 2);
    fleet.worker("w2", 1);
    let setup = Setup::new().on(&manual_clock()).fleet(fleet);
    let system = setup.start().await;
    let (_, workers) = system.admin.call(Method::GET, "/fleet/workers", None).await;
    let first = &workers["items"][0];
    assert_eq!(
        (&first["name"], &first["state"]),
        (&json!("w1"), &json!("ready"))
    );
    assert_eq!(
        (&first["load_rate"], &first["age_s"]),
        (&json!(0.4), &json!(0.2))
    );
    let (_, queues) = system.admin.call(Method::GET, "/fleet/queues", None).await;
    let queue = &queues["items"][0];
    assert_eq!(
        (&queue["waiting"], &queue["oldest_s"]),
        (&json!(3), &json!(1.5))
    );
    let metrics = system.admin.metrics().await;
    for sample in [
        r#"thermocline_fleet_backlog{deployment="m"} 3"#,
        "thermocline_fleet_utilisation 0.75",
        r#"thermocline_fleet_resident_models{worker="w1"} 0"#,
        r#"thermocline_fleet_model_loads_total{worker="w2"} 7"#,
        r#"thermocline_fleet_evictions_total{worker="w1"} 5"#,
        r#"thermocline_fleet_load_rate{worker="w1"} 0.4"#,
        r#"thermocline_fleet_dead_letters_total{class="poison"} 0"#,
        "thermocline_fleet_parked 0",
        r#"thermocline_fleet_requests_total{result="client_left"} 0"#,
    ] {
        assert!(
            metrics.contains(sample),
            "{sample} is missing in\n{metrics}"
        );
    }
}

#[tokio::test]
async fn without_a_fleet_there_is_nothing_to_see_and_nothing_is_counted() {
    let system = Setup::new().on(&manual_clock()).start().await;
    for list in ["workers", "queues", "dead-letters"] {
        let path = format!("/fleet/{list}");
        let (status, body) = system.admin.call(Method::GET, &path, None).await;
        assert_eq!(
            (status.as_u16(), body),
            (200, json!({ "items": [], "next": null }))
        );
    }
    assert!(!system.admin.metrics().await.contains("thermocline_fleet_"));
}
