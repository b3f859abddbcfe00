//! Deployments on RunPod: serverless and pod take turns by rate, and nothing
//! is left there that nobody wants.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use thermocline_fake_runpod::{FakeRunpod, Faults, Settings as FakeSettings};
use thermocline_runpod::{Account, EndpointType, RunpodProvider, Settings};
use thermocline_support::provider::FakeProvider;
use thermocline_support::system::{Setup, manual_clock};

use crate::scene::{SECOND, Scene, ok, secs};

const KEY: &str = "sentinel-runpod-key";

/// A system whose provider `runpod` is a fake account.
struct Runpod {
    scene: Scene,
    fake: FakeRunpod,
}

impl Runpod {
    async fn new(kind: EndpointType) -> Runpod {
        let time = manual_clock();
        let settings = FakeSettings {
            provisioning: SECOND,
            starting: SECOND,
            listening: SECOND,
            cold_start: SECOND,
            service_time: Duration::ZERO,
            ..FakeSettings::quick()
        };
        let fake = FakeRunpod::anywhere(KEY, time.clock(), settings)
            .await
            .unwrap();
        let account = Account::new(KEY.to_owned(), &fake.urls.api, time.clock()).unwrap();
        let settings = Settings {
            job_url: fake.urls.jobs.clone(),
            pod_url: fake.urls.pod.clone(),
            endpoint_url: fake.urls.endpoint.clone(),
            endpoint_type: kind,
            ..Settings::default()
        };
        let provider = RunpodProvider::connect(Arc::new(account), settings)
            .await
            .unwrap();
        let setup = Setup::new().on(&time).provider("runpod", provider);
        let scene = Scene {
            system: setup.start().await,
            cloud: FakeProvider::new(&time.clock(), |_| ok().into()),
            time,
        };
        Runpod { scene, fake }
    }

    async fn deploy(&self) {
        let tiers = json!({
            "serverless": { "provider": "runpod", "gpu": ["ADA_24"] },
            "pod": { "provider": "runpod", "gpu": ["NVIDIA L4", "RTX 4090"], "idle_timeout": "10m" },
        });
        let more = json!({
            "health": { "ready": { "path": "/ping" } },
            "policy": { "window": "10s", "promote_rps": 2, "demote_rps": 1 },
        });
        self.scene.deploy(tiers, more).await;
    }

    fn truth(&self, what: &str) -> Vec<Value> {
        self.fake.truth()[what].as_array().unwrap().clone()
    }

    /// Lets time pass until a pod exists.
    async fn made_a_pod(&self) {
        let made = async || !self.truth("pods").is_empty();
        self.scene.until(SECOND / 10, made).await;
    }

    /// One request, time passing until it is answered; the tier that served it.
    async fn served(&self) -> String {
        let request = self.scene.send("5m").await;
        let response = self.scene.answered(SECOND / 10, request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.header("x-thermocline-tier").unwrap().to_owned()
    }
}

#[tokio::test]
async fn serverless_and_pod_take_turns_by_rate() {
    let runpod = Runpod::new(EndpointType::LoadBalancer).await;
    runpod.fake.set_faults(Faults {
        no_stock: vec!["NVIDIA L4".into()],
        ..Faults::default()
    });
    runpod.deploy().await;
    assert_eq!(runpod.served().await, "serverless");
    assert_eq!(runpod.truth("endpoints").len(), 1);
    let three_a_second = async || {
        runpod.served().await;
        runpod.served().await;
        runpod.served().await == "pod"
    };
    runpod.scene.until(SECOND, three_a_second).await;
    assert_eq!(
        runpod.truth("pods")[0]["gpu"]["id"],
        "NVIDIA GeForce RTX 4090"
    );
    let seldom = async || runpod.served().await == "serverless";
    runpod.scene.until(secs(4), seldom).await;
    assert_eq!(
        runpod.scene.transitions().await,
        ["serverless→pod", "pod→serverless"]
    );
    runpod
        .scene
        .until(SECOND, async || runpod.truth("pods").is_empty())
        .await;
    assert_eq!(runpod.fake.truth()["pods_made"], 1);
    let body = runpod
        .scene
        .admin(reqwest::Method::DELETE, "/deployments/m")
        .await;
    assert_eq!(body.0, 202);
    runpod
        .scene
        .until(SECOND, async || runpod.truth("endpoints").is_empty())
        .await;
}

#[tokio::test]
async fn a_queue_endpoint_is_plain_http_to_the_router() {
    let runpod = Runpod::new(EndpointType::Queue).await;
    let tiers = json!({ "serverless": { "provider": "runpod", "queue_delay": "1s" } });
    runpod
        .scene
        .deploy(tiers, json!({ "resources": { "gpus": 1 } }))
        .await;
    let mut client = runpod.scene.system.client().await;
    let sent = tokio::spawn(async move {
        let request = client
            .request("POST", "/d/m/run")
            .header("content-type", "application/json");
        request.body(r#"{"prompt":"x"}"#).send().await.unwrap()
    });
    let response = runpod.scene.answered(SECOND / 10, sent).await;
    assert_eq!(
        (response.status, response.text()),
        (200, r#"{"echo":{"prompt":"x"}}"#.to_owned())
    );
}

/// The same store and account after a `kill -9`: no second endpoint, and the
/// key is in no file of the first process.
#[tokio::test]
async fn a_crash_leaves_one_endpoint_that_serves_on() {
    let mut runpod = Runpod::new(EndpointType::LoadBalancer).await;
    runpod.deploy().await;
    runpod.served().await;
    runpod.scene = runpod.scene.crash(secs(5)).await;
    assert_eq!(runpod.served().await, "serverless");
    runpod.scene.pass(secs(60)).await;
    assert_eq!(runpod.truth("endpoints").len(), 1);
    let instances = runpod
        .scene
        .admin(reqwest::Method::GET, "/instances")
        .await
        .1;
    assert!(!instances.to_string().contains(KEY));
}

/// The create makes the pod and is answered with 500, lists lag behind, and the
/// first deletes are 404s: one pod, which serves if it is still wanted and else goes.
#[tokio::test]
async fn b08_a_create_that_is_answered_with_5xx_and_lists_that_lag_make_one_pod() {
    for wanted in [true, false] {
        let runpod = Runpod::new(EndpointType::LoadBalancer).await;
        let tiers = json!({ "pod": { "provider": "runpod", "idle_timeout": "10m" } });
        let health = json!({ "health": { "ready": { "path": "/ping" } } });
        runpod.scene.deploy(tiers, health).await;
        runpod.fake.set_faults(Faults {
            fail_after: 1,
            list_lag_s: 8.0,
            delete_lag_s: 15.0,
            ..Faults::default()
        });
        match wanted {
            true => assert_eq!(runpod.served().await, "pod"),
            false => {
                let wake = "/deployments/m/wake";
                runpod.scene.admin(reqwest::Method::POST, wake).await;
                runpod.made_a_pod().await;
                let gone = "/deployments/m";
                runpod.scene.admin(reqwest::Method::DELETE, gone).await;
                let forgotten = async || runpod.scene.status().await.is_null();
                runpod.scene.until(SECOND, forgotten).await;
            }
        }
        runpod.scene.pass(secs(60)).await;
        assert_eq!(runpod.fake.truth()["pods_made"], 1);
        assert_eq!(runpod.truth("pods").len(), usize::from(wanted));
        let calls = runpod.fake.calls();
        let creates = calls.iter().filter(|call| call.starts_with("POST "));
        assert_eq!(creates.count(), 1, "{calls:?}");
        let events = crate::events::told(&runpod.scene).await;
        assert!(!events.contains("orphan.deleted"), "it was never forgotten");
    }
}

fn mistakes(body: &Value) -> Vec<(String, String)> {
    let text = |error: &Value, name: &str| error[name].as_str().unwrap().to_owned();
    let errors = body["errors"].as_array().into_iter().flatten();
    errors
        .map(|error| (text(error, "field"), text(error, "message")))
        .collect()
}

/// How many tiers were not held against a catalogue.
fn unchecked(body: &Value) -> usize {
    let warnings = body["status"]["warnings"].as_array().into_iter().flatten();
    let texts = warnings.filter_map(Value::as_str);
    texts.filter(|it| it.contains("not held against")).count()
}

/// What RunPod can never do is refused when it is written, with what it can do
/// instead; what cannot be checked just now is not, and is said.
#[tokio::test]
async fn what_runpod_can_never_do_is_refused_when_it_is_written() {
    let runpod = Runpod::new(EndpointType::LoadBalancer).await;
    let written = async |spec: Value| {
        let admin = &runpod.scene.system.admin;
        admin
            .call(reqwest::Method::PUT, "/deployments/m", Some(&spec))
            .await
    };
    let spec = |gpu: &str| {
        json!({
            "image": "i:1",
            "tiers": {
                "serverless": { "provider": "runpod", "gpu": ["ADA_24"] },
                "pod": { "provider": "runpod", "gpu": ["NVIDIA L4", gpu] },
            },
        })
    };
    let mut wrong = spec("rtx-4090");
    wrong["command"] = json!(["serve"]);
    wrong["port"] = json!(0);
    let (status, body) = written(wrong).await;
    assert_eq!(status, 400);
    let told = mistakes(&body);
    assert_eq!(told.len(), 3, "a mistake of two tiers is told once: {body}");
    assert_eq!(
        told[0].0, "port",
        "what nobody but we refuse is told with it"
    );
    let told = &told[1..];
    assert_eq!(told[0].0, "command");
    assert!(told[0].1.contains("use args"), "{}", told[0].1);
    assert_eq!(told[1].0, "tiers.pod.gpu[1]");
    let nearest = "\"rtx-4090\" is no GPU of RunPod; it has NVIDIA GeForce RTX 4090, ";
    assert!(told[1].1.starts_with(nearest), "{}", told[1].1);
    let mut large = spec("L4");
    large["resources"] = json!({ "vram": "900GiB" });
    let (status, _) = written(large).await;
    assert_eq!(status, 400);

    runpod.fake.set_faults(Faults {
        revoked: true,
        ..Faults::default()
    });
    runpod.scene.pass(secs(61)).await; // what was read is old by then
    let (status, body) = written(spec("rtx-4090")).await;
    assert_eq!(status, 201);
    assert_eq!(unchecked(&body), 2, "{body}");
    runpod.fake.set_faults(Faults::default());
    let (status, body) = written(spec("rtx-4090")).await;
    assert_eq!((status.as_u16(), mistakes(&body).len()), (400, 1));
    let (_, body) = written(spec("L4")).await;
    assert_eq!(unchecked(&body), 0, "{body}");
}

/// Somebody deletes what serves, by hand: the first request finds it out, and is
/// served by another that is made at once.
#[tokio::test]
async fn what_was_deleted_by_hand_is_replaced_for_the_request_that_misses_it() {
    for kind in [EndpointType::LoadBalancer, EndpointType::Queue] {
        let runpod = Runpod::new(kind).await;
        let tiers = json!({ "serverless": { "provider": "runpod" } });
        let more =
            json!({ "resources": { "gpus": 1 }, "health": { "ready": { "path": "/ping" } } });
        runpod.scene.deploy(tiers, more).await;
        assert_eq!(runpod.served().await, "serverless");
        runpod.scene.pass(secs(40)).await; // it is no longer young
        let id = runpod.truth("endpoints")[0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let url = format!("{}/v2/serverless/{id}", runpod.fake.urls.api);
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let deleted = client.delete(url).bearer_auth(KEY).send().await.unwrap();
        assert_eq!(deleted.status(), 204);
        let since = runpod.scene.elapsed();
        let request = runpod.scene.send("5m").await;
        let missed = runpod.scene.answered(SECOND / 10, request).await;
        assert_eq!(missed.status, 200, "{}", missed.text());
        let took = runpod.scene.elapsed() - since;
        assert!(took <= secs(8), "another served after {took:?}");
    }
}

#[tokio::test]
async fn a_stream_of_a_worker_that_yields_nothing_holds_its_output() {
    let runpod = Runpod::new(EndpointType::Queue).await;
    let tiers = json!({ "serverless": { "provider": "runpod" } });
    let more = json!({ "resources": { "gpus": 1 } });
    runpod.scene.deploy(tiers, more).await;
    let mut client = runpod.scene.system.client().await;
    let sent = tokio::spawn(async move {
        let request = client
            .request("POST", "/d/m/run")
            .header("content-type", "application/json");
        let body = r#"{"prompt":"x","stream":true}"#;
        request.body(body).send().await.unwrap()
    });
    let response = runpod.scene.answered(SECOND / 10, sent).await;
    let event = "data: {\"echo\":{\"prompt\":\"x\",\"stream\":true}}\n\n";
    assert_eq!((response.status, response.text()), (200, event.to_owned()));
}

#[tokio::test]
async fn the_worker_that_a_wake_starts_is_paid_for() {
    let runpod = Runpod::new(EndpointType::LoadBalancer).await;
    let tiers = json!({ "serverless": { "provider": "runpod" } });
    let more = json!({ "resources": { "gpus": 1 }, "health": { "ready": { "path": "/ping" } } });
    runpod.scene.deploy(tiers, more).await;
    runpod.scene.pass(secs(3)).await;
    let wake = "/deployments/m/wake";
    assert_eq!(runpod.scene.admin(reqwest::Method::POST, wake).await.0, 202);
    runpod.scene.pass(secs(60)).await;
    let (_, costs) = runpod.scene.admin(reqwest::Method::GET, "/costs").await;
    assert!(costs["total_nano_usd"].as_i64().unwrap() > 0, "{costs}");
    assert_eq!(runpod.scene.status().await["in_flight"], 0);
}

/// `max_workers` as it was written, and what RunPod may start.
async fn most_workers(runpod: &Runpod, max_workers: u32) {
    let tier = json!({ "serverless": { "max_workers": max_workers } });
    runpod
        .scene
        .system
        .admin
        .patch("m", json!({ "tiers": tier }))
        .await;
}

/// The account holds ten workers, and the endpoint may have all of them.
#[tokio::test]
async fn a_new_number_of_workers_is_changed_in_place_though_the_quota_is_full() {
    let runpod = Runpod::new(EndpointType::LoadBalancer).await;
    let tiers = json!({ "serverless": { "provider": "runpod", "max_workers": 10 } });
    let more = json!({ "health": { "ready": { "path": "/ping" } } });
    runpod.scene.deploy(tiers, more).await;
    runpod.served().await;
    let endpoint = runpod.truth("endpoints")[0]["id"].clone();
    let most = |runpod: &Runpod| runpod.truth("endpoints")[0]["max"].clone();
    most_workers(&runpod, 6).await;
    let lowered = async || most(&runpod) == 6;
    runpod.scene.until(SECOND, lowered).await;

    let scene = runpod.scene.crash(secs(5)).await;
    let runpod = Runpod { scene, ..runpod };
    runpod.scene.pass(secs(130)).await;
    assert_eq!(most(&runpod), 6, "a new process knows what it is to be");
    most_workers(&runpod, 9).await;
    let raised = async || most(&runpod) == 9;
    runpod.scene.until(SECOND, raised).await;

    most_workers(&runpod, 11).await;
    let told = async || {
        let status = runpod.scene.status().await;
        status["warnings"].to_string().contains("workers quota")
    };
    runpod.scene.until(SECOND, told).await;
    most_workers(&runpod, 3).await;
    runpod
        .scene
        .until(SECOND, async || most(&runpod) == 3 && !told().await)
        .await;
    let made = runpod.truth("endpoints");
    assert_eq!((made.len(), &made[0]["id"]), (1, &endpoint));
}
