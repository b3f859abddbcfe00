//! Full is full, warm or cold: so many run, so many wait, the rest is told at once.

use serde_json::{Value, json};
use thermocline_clock::Clock;
use thermocline_support::backend::{Gate, Latch, Reply, Script};
use thermocline_support::client::Response;
use thermocline_support::provider::{Boot, FakeProvider};
use thermocline_support::system::{Setup, System};
use tokio::sync::mpsc;

use crate::dedicated::{Dedicated, exclusive};

/// Sends `count` requests at once; their answers come as they are given.
async fn crowd(system: &System, path: &str, count: usize) -> mpsc::Receiver<Response> {
    let (answer, answers) = mpsc::channel(count);
    for _ in 0..count {
        let mut client = system.client().await;
        let (answer, path) = (answer.clone(), path.to_owned());
        tokio::spawn(async move {
            let response = client.request("GET", &path).send().await.unwrap();
            answer.send(response).await.unwrap();
        });
    }
    answers
}

/// The next `count` answers are 429 and say when to come again.
async fn refused(answers: &mut mpsc::Receiver<Response>, count: usize) {
    for _ in 0..count {
        let response = answers.recv().await.unwrap();
        assert_eq!(response.status, 429, "{}", response.text());
        assert_eq!(response.header("retry-after"), Some("1"));
        let problem: Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(problem["code"], "full");
    }
}

async fn served(answers: &mut mpsc::Receiver<Response>, count: usize) {
    for _ in 0..count {
        assert_eq!(answers.recv().await.unwrap().status, 200);
    }
}

/// Nothing is let through before the seven are refused, so none of them waited.
#[tokio::test]
async fn b29_warm_one_runs_two_wait_and_seven_are_refused() {
    let gate = Gate::new();
    let m = Dedicated::with(Reply::new(200).gated(&gate), exclusive(2)).await;
    for _ in 0..20 {
        let mut answers = crowd(&m.system, "/d/m/x", 10).await;
        refused(&mut answers, 7).await;
        m.holds(1, 2).await;
        for _ in 0..3 {
            gate.finish();
        }
        served(&mut answers, 3).await;
        m.rests().await;
    }
    assert_eq!(m.backend.seen().most_in_flight, 1);
    assert_eq!(m.outcomes("full").await, 140);
    assert_eq!(m.outcomes("ok").await, 60);
}

/// Cold the cap is `max_pending`, and who was let in is served when it is
/// warm although the queue would not have held it (choice 2).
#[tokio::test]
async fn b29_cold_as_many_as_may_be_pending_are_let_in() {
    let cloud = FakeProvider::new(&Clock::system(), |_| Reply::ok("hi").into());
    let system = Setup::new().provider("toy", cloud.clone()).start().await;
    for round in 0..20 {
        let ready = Latch::new();
        cloud.set_boot(Boot::WhenOpen(ready.clone()));
        let name = format!("m{round}");
        let mut spec = exclusive(0);
        spec["name"] = json!(name);
        spec["image"] = json!("i:1");
        spec["tiers"] = json!({ "pod": { "provider": "toy" } });
        spec["cold_start"] = json!({ "max_pending": 3 });
        system.admin.deploy(spec).await;
        let mut answers = crowd(&system, &format!("/d/{name}/x"), 10).await;
        refused(&mut answers, 7).await;
        ready.open();
        served(&mut answers, 3).await;
        assert_eq!(cloud.truth().created, round + 1);
    }
}

#[tokio::test]
async fn shared_requests_run_side_by_side_up_to_the_limit() {
    let latch = Latch::new();
    let limits = json!({ "concurrency": { "max_concurrency": 3, "queue": 1 } });
    let m = Dedicated::with(Reply::ok("hi").held_until(&latch), limits).await;
    let mut answers = crowd(&m.system, "/d/m/x", 6).await;
    refused(&mut answers, 2).await;
    m.holds(3, 1).await;
    latch.open();
    served(&mut answers, 4).await;
    assert_eq!(m.backend.seen().most_in_flight, 3);
}

/// Choice 7: what is not traffic neither counts nor wakes.
#[tokio::test]
async fn ignored_paths_neither_wake_nor_count() {
    let cloud = FakeProvider::new(&Clock::system(), |_| Reply::ok("hi").into());
    let system = Setup::new().provider("toy", cloud.clone()).start().await;
    let spec = json!({
        "name": "m", "image": "i:1", "tiers": { "pod": { "provider": "toy" } },
        "activity": { "ignore": ["^/ping$"] },
    });
    system.admin.deploy(spec).await;
    let mut client = system.client().await;
    let asleep = client.request("GET", "/d/m/ping").send().await.unwrap();
    assert_eq!(asleep.status, 503);
    assert_eq!(cloud.truth().created, 0);
    assert_eq!(system.admin.status("m").await["rps"], 0.0);
    let woken = client.request("GET", "/d/m/x").send().await.unwrap();
    assert_eq!(
        (woken.status, woken.header("x-thermocline-start")),
        (200, Some("cold"))
    );
    let counted = system.admin.status("m").await["rps"].clone();
    let awake = client.request("GET", "/d/m/ping").send().await.unwrap();
    assert_eq!(awake.status, 200, "while it is up it is answered");
    assert!(system.admin.status("m").await["rps"].as_f64() <= counted.as_f64());
}

#[tokio::test]
async fn refusals_have_the_shape_of_their_protocol() {
    let latch = Latch::new();
    let script = Script::always(Reply::ok("hi")).on("/v1/x", Reply::ok("hi").held_until(&latch));
    let m = Dedicated::with(script, exclusive(0)).await;
    let mut first = m.client().await;
    first.request("GET", "/d/m/v1/x").start().await.unwrap();
    m.holds(1, 0).await;
    let plain = m.get("/d/m/x").await;
    assert_eq!(
        plain.header("content-type"),
        Some("application/problem+json")
    );
    let problem: Value = serde_json::from_slice(&plain.body).unwrap();
    assert_eq!(
        (&problem["status"], &problem["code"]),
        (&json!(429), &json!("full"))
    );
    assert_eq!(problem["request_id"].as_str(), plain.header("x-request-id"));
    let openai = m.get("/d/m/v1/x").await;
    assert_eq!(openai.header("content-type"), Some("application/json"));
    let error: Value = serde_json::from_slice(&openai.body).unwrap();
    assert_eq!(error["error"]["code"], "full");
    assert_eq!(error["error"]["type"], "rate_limit_error");
    assert!(error["error"]["message"].is_string());
    latch.open();
}

/// No status is made without its code, and none says where the backend is.
#[tokio::test]
async fn each_fault_has_its_status_and_code() {
    let backend = thermocline_support::backend::ReservedBackend::bind().unwrap();
    let spec = json!({ "tiers": { "dedicated": { "url": backend.url() } } });
    let m = Dedicated::with(Reply::ok("hi"), spec).await;
    let broke = m.get("/d/m/x").await;
    let unknown = m.get("/d/nobody/x").await;
    m.system
        .admin
        .call(reqwest::Method::POST, "/deployments/m/sleep", None)
        .await;
    m.system.admin.wait_state("m", "stopped").await;
    let stopped = m.get("/d/m/x").await;
    for (response, status, code) in [
        (&broke, 502, "bad_gateway"),
        (&unknown, 404, "unknown_deployment"),
        (&stopped, 503, "stopped"),
    ] {
        let problem: Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!((response.status, &problem["code"]), (status, &json!(code)));
        assert!(
            !response.text().contains("127.0.0.1"),
            "{}",
            response.text()
        );
    }
    let again: u64 = stopped.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=120).contains(&again));
    drop(backend);
}
