//! Requests to queue endpoints, as a router sends them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use thermocline_clock::{Clock, ManualClock};
use thermocline_fake_runpod::{Faults, Settings};
use thermocline_policy::Tier;
use thermocline_provider::{Address, Provider};
use thermocline_runpod::EndpointType;

use crate::scene::{Scene, request, still};

/// A queue endpoint and how it is reached.
struct Queue {
    scene: Scene,
    address: Address,
    http: Client,
}

impl Queue {
    async fn new() -> Queue {
        let settings = Settings {
            cold_start: Duration::ZERO,
            ..Settings::quick()
        };
        Queue::on(Clock::system(), settings).await
    }

    async fn on(clock: Clock, settings: Settings) -> Queue {
        let scene = Scene::with(clock, settings, EndpointType::Queue).await;
        let made = scene
            .provider
            .create("key", &request(Tier::Serverless))
            .await
            .unwrap();
        let address = scene.provider.reach(&made.address.unwrap());
        let http = Client::builder().no_proxy().build().unwrap();
        Queue {
            scene,
            address,
            http,
        }
    }

    fn post(&self, body: &Value) -> RequestBuilder {
        self.with_headers(
            self.http
                .post(format!("{}/any/path", self.address.url))
                .json(body),
        )
    }

    fn with_headers(&self, mut request: RequestBuilder) -> RequestBuilder {
        for (name, value) in &self.address.headers {
            request = request.header(name, value);
        }
        request
    }

    fn endpoint(&self) -> String {
        self.scene.fake.truth()["endpoints"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    async fn await_jobs(&self, state: &str, wanted: u64) {
        let mut looks = tokio::time::interval(Duration::from_millis(5));
        loop {
            looks.tick().await;
            let counts = self.scene.fake.job_counts(&self.endpoint());
            if counts["jobs"][state] == wanted {
                return;
            }
        }
    }
}

#[tokio::test]
async fn a_request_becomes_a_job_and_its_output_the_response() {
    let queue = Queue::new().await;
    let response = queue.post(&json!({ "prompt": "x" })).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body, json!({ "echo": { "prompt": "x" } }));
    assert_eq!(queue.scene.fake.truth()["jobs_made"], 1);
}

#[tokio::test]
async fn a_job_longer_than_a_submission_waits_is_asked_after() {
    let queue = Queue::new().await;
    let response = queue
        .post(&json!({ "input": { "sleep_ms": 1_300 } }))
        .send()
        .await
        .unwrap();
    let body: Value = response.json().await.unwrap();
    assert_eq!(body, json!({ "echo": { "sleep_ms": 1_300 } }));
    assert_eq!(queue.scene.fake.truth()["jobs_made"], 1);
}

#[tokio::test]
async fn a_job_that_fails_says_why() {
    let queue = Queue::new().await;
    let response = queue
        .post(&json!({ "fail": "out of memory" }))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 500);
    let problem: Value = response.json().await.unwrap();
    assert_eq!(
        (&problem["code"], &problem["detail"]),
        (&json!("job_failed"), &json!("out of memory"))
    );
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_job_with_it() {
    let queue = Queue::new().await;
    for body in [
        json!({ "sleep_ms": 60_000 }),
        json!({ "chunks": 9, "sleep_ms": 60_000, "stream": true }),
    ] {
        let request = queue.post(&body).send();
        let patience = tokio::time::timeout(Duration::from_millis(300), request);
        assert!(patience.await.is_err(), "it is still at work");
        queue.await_jobs("inProgress", 0).await;
    }
    assert_eq!(queue.scene.fake.truth()["jobs_made"], 2);
}

#[tokio::test]
async fn chunks_are_events_as_they_come() {
    let queue = Queue::new().await;
    let body = json!({ "chunks": 5, "sleep_ms": 40, "stream": true });
    let response = queue.post(&body).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (mut text, mut events) = (String::new(), response.bytes_stream());
    while let Some(piece) = events.next().await {
        text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
    }
    let numbers: Vec<Value> = text
        .split("\n\n")
        .filter_map(|event| event.strip_prefix("data: "))
        .map(|data| serde_json::from_str::<Value>(data).unwrap()["n"].clone())
        .collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4].map(Value::from));
}

#[tokio::test]
async fn health_makes_no_job_and_wakes_no_worker() {
    let queue = Queue::new().await;
    let get = queue.with_headers(queue.http.get(format!("{}/ping", queue.address.url)));
    let response = get.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let truth = queue.scene.fake.truth();
    assert_eq!(
        (&truth["jobs_made"], &truth["endpoints"][0]["up"]),
        (&json!(0), &json!(0))
    );
}

#[tokio::test]
async fn what_is_no_job_is_refused_clearly() {
    let queue = Queue::new().await;
    let url = format!("{}/x", queue.address.url);
    let send =
        |request: RequestBuilder| async { queue.with_headers(request).send().await.unwrap() };
    let put = send(queue.http.put(&url)).await;
    assert_eq!(put.status(), 405);
    let form = send(queue.http.post(&url).body("a=b")).await;
    assert_eq!(form.status(), 415);
    let large = format!("\"{}\"", "x".repeat(20_000_000));
    let large = send(queue.http.post(&url).body(large)).await;
    assert_eq!(large.status(), 413);
    assert!(large.text().await.unwrap().contains("20 MB"));
    let stranger = queue.http.post(&url).json(&json!({})).send().await.unwrap();
    assert_eq!(stranger.status(), 401);
    assert_eq!(queue.scene.fake.truth()["jobs_made"], 0);
}

#[tokio::test]
async fn a_job_whose_worker_comes_late_is_waited_for() {
    let queue = Queue::new().await;
    queue.scene.faults(Faults {
        throttled: true,
        ..Faults::default()
    });
    let request = tokio::spawn(queue.post(&json!({ "x": 1 })).send());
    queue.await_jobs("inQueue", 1).await;
    queue.scene.faults(Faults::default());
    assert_eq!(request.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn a_job_that_no_worker_takes_says_why() {
    let time = still();
    let settings = Settings {
        cold_start: Duration::ZERO,
        ..Settings::quick()
    };
    let queue = Queue::on(time.clock(), settings).await;
    queue.scene.faults(Faults {
        unhealthy: true,
        ..Faults::default()
    });
    let request = queue.post(&json!({ "x": 1 }));
    let (response, _) = until_answered(&queue, &time, request).await;
    assert_eq!(response.status(), 504);
    let problem: Value = response.json().await.unwrap();
    assert_eq!(
        problem["detail"],
        "no worker took the job in time; throttled: 0, unhealthy: 1"
    );
}

/// Moves time on until `request`, whose job stays in the queue, is answered;
/// how long that took.
async fn until_answered(
    queue: &Queue,
    time: &ManualClock,
    request: RequestBuilder,
) -> (Response, Duration) {
    let mut request = tokio::spawn(request.send());
    queue.await_jobs("inQueue", 1).await;
    let began = time.now();
    loop {
        time.advance(Duration::from_secs(10));
        let patience = tokio::time::timeout(Duration::from_millis(10), &mut request);
        if let Ok(response) = patience.await {
            return (response.unwrap().unwrap(), time.now().since(began));
        }
    }
}

#[tokio::test]
async fn a_job_waits_for_no_longer_than_its_client_does() {
    let time = still();
    let settings = Settings {
        cold_start: Duration::ZERO,
        ..Settings::quick()
    };
    let queue = Queue::on(time.clock(), settings).await;
    assert!(queue.address.remaining, "it asks to be told");
    queue.scene.faults(Faults {
        throttled: true,
        ..Faults::default()
    });
    let request = queue.post(&json!({ "x": 1 }));
    let request = request.header("x-thermocline-remaining-ms", "30000");
    let (response, waited) = until_answered(&queue, &time, request).await;
    assert_eq!(response.status(), 504);
    assert!(
        waited <= Duration::from_secs(100),
        "{waited:?}, not ten minutes"
    );
}

#[tokio::test]
async fn a_workers_own_openai_api_is_passed_on_as_it_comes() {
    let queue = Queue::new().await;
    let url = format!("{}/v1/chat/completions?sse=3&gap_ms=5", queue.address.url);
    let request = queue.with_headers(queue.http.post(url).json(&json!({ "model": "m" })));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = response.text().await.unwrap();
    assert_eq!(text.matches("data: ").count(), 3, "{text}");
    assert_eq!(queue.scene.fake.truth()["jobs_made"], 0);
}

/// The figures: what the translation adds to a job, and to a stream's first event.
#[tokio::test]
#[allow(clippy::disallowed_methods)] // it measures
async fn the_translation_adds_little() {
    let queue = Queue::new().await;
    queue.post(&json!({})).send().await.unwrap(); // connections are there
    let mut added: Vec<Duration> = Vec::new();
    for _ in 0..50 {
        let direct = format!(
            "{}/v2/{}/runsync",
            queue.scene.fake.urls.jobs,
            queue.endpoint()
        );
        let (began, body) = (Instant::now(), json!({ "input": {} }));
        queue
            .http
            .post(direct)
            .bearer_auth(crate::scene::KEY)
            .json(&body)
            .send()
            .await
            .unwrap();
        let direct = began.elapsed();
        let began = Instant::now();
        queue
            .post(&json!({}))
            .send()
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap();
        added.push(began.elapsed().saturating_sub(direct));
    }
    added.sort();
    let body = json!({ "chunks": 2, "sleep_ms": 150, "stream": true });
    let mut late: Vec<i64> = Vec::new();
    for _ in 0..5 {
        let mut events = queue.post(&body).send().await.unwrap().bytes_stream();
        let first = events.next().await.unwrap().unwrap();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_micros() as i64;
        let data = std::str::from_utf8(&first)
            .unwrap()
            .trim()
            .strip_prefix("data: ")
            .unwrap();
        let emitted = serde_json::from_str::<Value>(data).unwrap()["at_us"]
            .as_i64()
            .unwrap();
        late.push(now - emitted);
    }
    late.sort_unstable();
    println!(
        "job: +{:?} (median of 50); first event: +{} µs (median of 5)",
        added[25], late[2]
    );
    assert!(added[25] <= Duration::from_millis(20), "{added:?}");
    assert!(late[2] <= 100_000, "{late:?}");
}

/// Neither the endpoint nor the client is at fault.
#[tokio::test]
async fn a_key_that_is_refused_is_no_failure_of_the_endpoint() {
    let queue = Queue::new().await;
    queue.scene.faults(Faults {
        revoked: true,
        ..Faults::default()
    });
    let answer = queue.post(&json!({ "x": 1 })).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["retry-after"], "1");
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["code"], "auth", "{problem}");
}
