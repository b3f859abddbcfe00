//! The fake refuses what the service refuses, and knows what exists.

#![allow(clippy::unwrap_used)] // tests

use std::time::{Duration, SystemTime};

use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use thermocline_clock::{Clock, ManualClock};
use thermocline_fake_runpod::{BodyFault, FakeRunpod, Faults, ListFault, Settings};

const KEY: &str = "key";

struct Scene {
    fake: FakeRunpod,
    http: Client,
}

impl Scene {
    async fn new() -> Scene {
        Scene::with(Clock::system(), Settings::quick()).await
    }

    async fn with(clock: Clock, settings: Settings) -> Scene {
        let fake = FakeRunpod::anywhere(KEY, clock, settings).await.unwrap();
        let http = Client::builder().no_proxy().build().unwrap();
        Scene { fake, http }
    }

    async fn send(&self, method: Method, path: &str, body: Value) -> Response {
        let request = self
            .http
            .request(method, format!("{}{path}", self.fake.urls.api));
        request.bearer_auth(KEY).json(&body).send().await.unwrap()
    }

    async fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let response = self.send(method, path, body).await;
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or_default())
    }

    async fn job(&self, method: Method, endpoint: &str, path: &str, body: Value) -> Value {
        let url = format!("{}/v2/{endpoint}{path}", self.fake.urls.jobs);
        let sent = self
            .http
            .request(method, url)
            .bearer_auth(KEY)
            .json(&body)
            .send();
        sent.await.unwrap().json().await.unwrap()
    }

    async fn endpoint(&self, kind: &str, more: Value) -> Value {
        let scaling = match kind {
            "QUEUE" => json!({ "type": "QUEUE_DELAY", "queueDelay": 4 }),
            _ => json!({ "type": "REQUEST_COUNT", "requestCount": 4 }),
        };
        let mut body = json!({
            "name": "e", "image": "i", "type": kind, "scaling": scaling, "gpu": { "pools": ["ADA_24"] },
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            body[key] = value.clone();
        }
        let (status, made) = self.call("POST", "/v2/serverless", body).await;
        assert_eq!(status, 201, "{made}");
        made
    }
}

fn pod() -> Value {
    json!({
        "name": "p", "image": "i", "gpu": { "id": "NVIDIA L4", "count": 1 }, "ports": ["8000/http"],
    })
}

fn id(said: &Value) -> String {
    said["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_pod_goes_through_its_states_costs_and_ends() {
    let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let settings = Settings {
        provisioning: Duration::from_secs(5),
        starting: Duration::from_secs(5),
        ..Settings::default()
    };
    let scene = Scene::with(time.clock(), settings).await;
    let (status, made) = scene.call("POST", "/v2/pods", pod()).await;
    assert_eq!((status, &made["status"]), (201, &json!("PROVISIONING")));
    let path = format!("/v2/pods/{}", id(&made));
    for expected in ["STARTING", "RUNNING"] {
        time.advance(Duration::from_secs(5));
        assert_eq!(
            scene.call("GET", &path, Value::Null).await.1["status"],
            expected
        );
    }
    time.advance(Duration::from_secs(3_590));
    let (_, bill) = scene.call("GET", "/v2/billing/pods", Value::Null).await;
    assert!(
        (bill["records"][0]["totalAmount"].as_f64().unwrap() - 0.43).abs() < 0.001,
        "{bill}"
    );
    let stop = json!({ "action": "stop" });
    let action = format!("{path}/action");
    assert_eq!(
        scene.call("POST", &action, stop.clone()).await.1["status"],
        "EXITED"
    );
    assert_eq!(scene.call("POST", &action, stop).await.0, 409);
    assert_eq!(scene.call("DELETE", &path, Value::Null).await.0, 204);
    assert_eq!(scene.call("DELETE", &path, Value::Null).await.0, 404);
    assert_eq!(
        scene.call("GET", "/v2/pods", Value::Null).await.1,
        json!({ "pods": [] })
    );
}

#[tokio::test]
async fn what_the_schema_does_not_know_is_refused_by_name() {
    let scene = Scene::new().await;
    let mut body = pod();
    body["gpuTypeIds"] = json!([]);
    let (status, problem) = scene.call("POST", "/v2/pods", body).await;
    assert_eq!(status, 422);
    assert_eq!(
        problem["errors"],
        json!(["$: additional properties 'gpuTypeIds' not allowed"])
    );
    let clash = json!({
        "name": "e", "image": "i", "type": "QUEUE", "gpu": { "pools": ["ADA_24"] },
        "scaling": { "type": "REQUEST_COUNT", "requestCount": 1 }, "workers": { "idleTimeout": 5 },
    });
    assert_eq!(scene.call("POST", "/v2/serverless", clash).await.0, 422);
    let mut both = pod();
    both["cpu"] = json!({ "id": "cpu5c", "vcpuCount": 4 });
    assert_eq!(scene.call("POST", "/v2/pods", both).await.0, 400);
    assert_eq!(scene.fake.truth()["pods_made"], 0);
}

#[tokio::test]
async fn limits_are_told_and_kept() {
    let settings = Settings {
        calls: [2, 100, 100],
        ..Settings::quick()
    };
    let scene = Scene::with(Clock::system(), settings).await;
    let first = scene.send(Method::GET, "/v2/pods", Value::Null).await;
    let told = first.headers()["ratelimit"].to_str().unwrap();
    assert!(told.starts_with("\"minute\";r=1;t="), "{told}");
    scene.send(Method::GET, "/v2/pods", Value::Null).await;
    let third = scene.send(Method::GET, "/v2/pods", Value::Null).await;
    assert_eq!(third.status(), 429);
    assert!(third.headers().contains_key("retry-after"));
}

#[tokio::test]
async fn faults_do_what_they_say() {
    let scene = Scene::new().await;
    let fault = |faults: Faults| scene.fake.set_faults(faults);
    fault(Faults {
        fail_before: 1,
        ..Faults::default()
    });
    assert_eq!(scene.call("POST", "/v2/pods", pod()).await.0, 500);
    assert_eq!(scene.fake.truth()["pods_made"], 0);
    fault(Faults {
        fail_after: 1,
        ..Faults::default()
    });
    assert_eq!(scene.call("POST", "/v2/pods", pod()).await.0, 500);
    assert_eq!(scene.fake.truth()["pods_made"], 1);
    fault(Faults {
        no_stock: vec!["NVIDIA L4".into()],
        ..Faults::default()
    });
    let (status, problem) = scene.call("POST", "/v2/pods", pod()).await;
    assert_eq!(status, 400);
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("no longer any instances")
    );
    fault(Faults {
        list_lag_s: 60.0,
        ..Faults::default()
    });
    assert_eq!(
        scene.call("GET", "/v2/pods", Value::Null).await.1["pods"],
        json!([])
    );
    fault(Faults {
        list: Some(ListFault::Error),
        ..Faults::default()
    });
    assert_eq!(scene.call("GET", "/v2/pods", Value::Null).await.0, 500);
    fault(Faults {
        body: Some(BodyFault::Malformed),
        ..Faults::default()
    });
    assert_eq!(
        scene.call("GET", "/v2/pods", Value::Null).await,
        (200, Value::Null)
    );
    fault(Faults {
        revoked: true,
        ..Faults::default()
    });
    assert_eq!(scene.call("GET", "/v2/pods", Value::Null).await.0, 401);
}

#[tokio::test]
async fn a_pod_answers_at_its_own_address_once_it_listens() {
    let scene = Scene::new().await;
    let (_, made) = scene.call("POST", "/v2/pods", pod()).await;
    let url = scene
        .fake
        .urls
        .pod
        .replace("{id}", &id(&made))
        .replace("{port}", "8000");
    let mut statuses = Vec::new();
    while statuses.last() != Some(&200) {
        let answer = scene.http.get(format!("{url}/ping")).send().await.unwrap();
        statuses.push(answer.status().as_u16());
    }
    assert_eq!(statuses[0], 502, "it did not listen at once");
    let (status, _) = scene
        .call("DELETE", &format!("/v2/pods/{}", id(&made)), Value::Null)
        .await;
    assert_eq!(status, 204);
}

#[tokio::test]
async fn a_load_balancer_says_204_until_a_worker_is_there() {
    let scene = Scene::new().await;
    let made = scene.endpoint("LOAD_BALANCER", json!({})).await;
    let url = scene.fake.urls.endpoint.replace("{id}", &id(&made));
    let get = |path: &str| {
        scene
            .http
            .get(format!("{url}{path}"))
            .bearer_auth(KEY)
            .send()
    };
    assert_eq!(get("/ping").await.unwrap().status(), 204);
    assert_eq!(
        get("/work").await.unwrap().status(),
        200,
        "it waits for the worker"
    );
    assert_eq!(get("/ping").await.unwrap().status(), 200);
    let stranger = scene.http.get(format!("{url}/work")).send().await.unwrap();
    assert_eq!(stranger.status(), 401);
}

#[tokio::test]
async fn jobs_are_queued_done_cancelled_and_forgotten() {
    let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let settings = Settings {
        cold_start: Duration::ZERO,
        service_time: Duration::ZERO,
        ..Settings::quick()
    };
    let scene = Scene::with(time.clock(), settings).await;
    let made = scene
        .endpoint("QUEUE", json!({ "workers": { "max": 1 } }))
        .await;
    assert_eq!(made["timeout"], 0, "as it was seen when it is left out");
    let e = id(&made);
    let input = json!({ "input": { "x": 1 } });
    let done = scene.job(Method::POST, &e, "/runsync", input.clone()).await;
    assert_eq!(
        (&done["status"], &done["output"]["echo"]["x"]),
        (&json!("COMPLETED"), &json!(1))
    );
    let long = json!({ "input": { "sleep_ms": 60_000 }, "policy": { "ttl": 600_000 } });
    let first = scene.job(Method::POST, &e, "/run", long).await;
    let second = scene.job(Method::POST, &e, "/run", input).await;
    let status = |job: &Value| format!("/status/{}", id(job));
    assert_eq!(
        scene
            .job(Method::GET, &e, &status(&second), Value::Null)
            .await["status"],
        "IN_QUEUE"
    );
    scene
        .job(
            Method::POST,
            &e,
            &format!("/cancel/{}", id(&first)),
            Value::Null,
        )
        .await;
    loop {
        let seen = scene
            .job(Method::GET, &e, &status(&second), Value::Null)
            .await;
        if seen["status"] == "COMPLETED" {
            break;
        }
    }
    time.advance(Duration::from_secs(3_600));
    let gone = scene
        .job(Method::GET, &e, &status(&second), Value::Null)
        .await;
    assert_eq!(gone["status"], 404);
    // Its workers have long gone; another one comes.
    let input = json!({ "input": { "x": 2 } });
    let again = scene.job(Method::POST, &e, "/runsync", input).await;
    assert_eq!(again["status"], "COMPLETED", "{again}");
}

#[tokio::test]
async fn an_endpoint_that_nobody_uses_is_lowered() {
    let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let scene = Scene::with(
        time.clock(),
        Settings {
            calls: [1_000, 1_000, 1_000],
            ..Settings::default()
        },
    )
    .await;
    let path = format!(
        "/v2/serverless/{}",
        id(&scene.endpoint("QUEUE", json!({})).await)
    );
    let mut seen = Vec::new();
    for _ in 0..8 {
        seen.push(
            scene.call("GET", &path, Value::Null).await.1["workers"]["max"]
                .as_u64()
                .unwrap(),
        );
        time.advance(Duration::from_secs(86_400));
    }
    assert_eq!(seen, [3, 3, 3, 2, 2, 2, 2, 0]);
    let patch = json!({ "workers": { "min": 0, "max": 3, "idleTimeout": 10 } });
    assert_eq!(
        scene.call("PATCH", &path, patch).await.1["workers"]["max"],
        3
    );
    assert_eq!(
        scene
            .call("PATCH", &path, json!({ "workers": { "max": 11 } }))
            .await
            .0,
        400
    );
}

#[tokio::test]
async fn pages_and_left_out_environments() {
    let scene = Scene::with(
        Clock::system(),
        Settings {
            page: Some(2),
            ..Settings::quick()
        },
    )
    .await;
    for _ in 0..3 {
        scene.call("POST", "/v2/pods", pod()).await;
    }
    let (_, first) = scene.call("GET", "/v2/pods", Value::Null).await;
    assert_eq!(
        first["pagination"],
        json!({ "hasNextPage": true, "nextCursor": "2" })
    );
    assert_eq!(first["pods"][0]["env"], Value::Null);
    let (_, rest) = scene.call("GET", "/v2/pods?cursor=2", Value::Null).await;
    assert_eq!(rest["pods"].as_array().unwrap().len(), 1);
    assert_eq!(rest["pagination"]["hasNextPage"], false);
}
