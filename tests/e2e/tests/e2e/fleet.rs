//! The shared fleet as REST and metrics show it.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_broker::{Broker, Delivery, Limits, MemoryBroker};
use thermocline_clock::Clock;
use thermocline_fleet::{Fleet, Settings};
use thermocline_support::backend::{Reply, Script};
use thermocline_support::fleet::FakeFleet;
use thermocline_support::provider::FakeProvider;
use thermocline_support::system::{Setup, System, manual_clock};
use thermocline_wire::fleet::{Class, Failure, FailureKind, Job, Obituary};

use crate::scene::breathe;

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
async fn that_no_worker_could_ever_serve_it_is_told_wherever_one_looks() {
    let why = "no worker of the fleet may pull it";
    let fleet = FakeFleet::default();
    fleet.queue("m", 3);
    let setup = Setup::new().on(&manual_clock()).fleet(fleet.clone());
    let provider = FakeProvider::new(&manual_clock().clock(), |_| Script::from(Reply::ok("")));
    let setup = setup.provider("fleet", provider);
    let system = setup.start().await;
    let spec = json!({
        "name": "m", "image": "image", "port": 8000,
        "tiers": { "serverless": { "provider": "fleet" } },
    });
    system.admin.deploy(spec).await;
    let told = async || {
        let get = |path| system.admin.call(Method::GET, path, None);
        let (_, queues) = get("/fleet/queues").await;
        let (_, deployment) = get("/deployments/m").await;
        let (_, decision) = get("/deployments/m/decision").await;
        [
            queues["items"][0]["unserved"].clone(),
            deployment["status"]["warnings"].clone(),
            decision["unserved"].clone(),
        ]
    };
    assert_eq!(told().await, [Value::Null, json!([]), Value::Null]);
    fleet.unserved(why);
    assert_eq!(told().await, [json!(why), json!([why]), json!(why)]);
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

/// A job of `m` in a worker's hands.
async fn taken(broker: &MemoryBroker) -> (Job, Delivery) {
    loop {
        if let Some(delivery) = broker.take("m").await.unwrap() {
            return (serde_json::from_slice(delivery.body()).unwrap(), delivery);
        }
        breathe(5).await;
    }
}

/// A worker gives up a job of `m`; its id.
async fn buried(broker: &MemoryBroker) -> String {
    let (mut job, delivery) = taken(broker).await;
    let failure = Failure {
        run: String::new(),
        worker: "w1".to_owned(),
        kind: FailureKind::OutOfCapacity,
        status: None,
        detail: "no room for 11 GiB".to_owned(),
        last: true,
    };
    job.failures.push(failure.clone());
    let report = Obituary {
        class: Class::Transient,
        failure,
    };
    let body = serde_json::to_vec(&job).unwrap();
    let report = serde_json::to_vec(&report).unwrap();
    delivery.bury(body.into(), report.into()).await.unwrap();
    job.id
}

async fn letter(system: &System, id: &str) -> Value {
    loop {
        let path = format!("/fleet/dead-letters/{id}");
        let (status, letter) = system.admin.call(Method::GET, &path, None).await;
        if status == 200 {
            return letter;
        }
        breathe(5).await;
    }
}

#[tokio::test]
async fn b31_a_request_that_fails_for_good_is_answered_archived_and_run_once_more() {
    let broker = Arc::new(MemoryBroker::new(Clock::system(), &Limits::default()));
    let settings = Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        ..Settings::default()
    };
    let fleet = Fleet::connect(settings, broker.clone(), Clock::system()).await;
    let fleet = Arc::new(fleet.unwrap());
    let mut setup = Setup::new();
    setup.providers.push(("fleet".to_owned(), fleet.clone()));
    setup.fleet = Some(fleet);
    let system = setup.start().await;
    let tiers = json!({ "serverless": { "provider": "fleet" } });
    let spec = json!({ "name": "m", "image": "i:1", "tiers": tiers });
    system.admin.deploy(spec).await;

    let mut client = system.client().await;
    let request = client.request("POST", "/d/m/run?api_key=sentinel");
    let request = request.header("authorization", "Bearer sentinel");
    let (answer, id) = tokio::join!(request.body("the prompt").send(), buried(&broker));
    assert_eq!(answer.unwrap().status, 503);
    let found = letter(&system, &id).await;
    assert!(!found.to_string().contains("sentinel"), "{found}");
    assert_eq!(found["payload"]["content"], "the prompt");
    assert_eq!(found["request"]["target"], "/run");
    assert_eq!(
        (&found["kind"], &found["attempts"]),
        (&json!("out_of_capacity"), &json!(1))
    );
    assert_eq!(
        (&found["class"], &found["replayable"]),
        (&json!("transient"), &json!(true))
    );

    let path = format!("/fleet/dead-letters/{id}/replay");
    let (status, _) = system.admin.call(Method::POST, &path, None).await;
    assert_eq!(status, 202);
    let again = buried(&broker).await;
    assert_ne!(again, id);
    assert_eq!(
        letter(&system, &again).await["payload"]["content"],
        "the prompt"
    );
    let first = loop {
        let first = letter(&system, &id).await;
        if first["state"] == "replayed" {
            break first;
        }
        breathe(5).await;
    };
    assert_eq!(first["outcome"]["result"], "failed");
    assert_eq!(first["outcome"]["kind"], "out_of_capacity");
}
