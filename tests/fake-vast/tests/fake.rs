//! The fake refuses what the service refuses, and knows what exists.

#![allow(clippy::unwrap_used)] // tests

use std::time::{Duration, SystemTime};

use reqwest::{Client, Method};
use serde_json::{Value, json};
use thermocline_clock::{Clock, ManualClock};
use thermocline_fake_vast::{FakeVast, Settings};

const KEY: &str = "key";

struct Scene {
    fake: FakeVast,
    http: Client,
}

impl Scene {
    async fn with(clock: Clock, settings: Settings) -> Scene {
        let fake = FakeVast::anywhere(KEY, clock, settings).await.unwrap();
        let http = Client::builder().no_proxy().build().unwrap();
        Scene { fake, http }
    }

    async fn new() -> Scene {
        Scene::with(Clock::system(), Settings::quick()).await
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> (u16, String) {
        let url = format!("{}{path}", self.fake.url);
        let request = self.http.request(method, url).bearer_auth(KEY);
        let response = request.json(&body).send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.text().await.unwrap())
    }

    async fn json(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let (status, text) = self.call(method, path, body).await;
        (status, serde_json::from_str(&text).unwrap())
    }

    /// The ids of the offers that `search` finds.
    async fn offers(&self, search: Value) -> Vec<Value> {
        let (status, said) = self.json(Method::POST, "/api/v0/bundles/", search).await;
        assert_eq!(status, 200, "{said}");
        said["offers"].as_array().unwrap().clone()
    }

    async fn rent(&self, offer: &Value, body: Value) -> (u16, Value) {
        let path = format!("/api/v0/asks/{}/", offer["id"]);
        self.json(Method::PUT, &path, body).await
    }
}

fn body() -> Value {
    json!({ "image": "i", "disk": 20, "label": "mine", "env": { "-p 8000:8000": "1" } })
}

#[tokio::test]
async fn an_offer_can_be_taken_once_and_comes_back_when_it_is_free() {
    let scene = Scene::new().await;
    let search = || json!({ "gpu_name": { "eq": "L40S" }, "num_gpus": { "eq": 1 } });
    let before = scene.offers(search()).await;
    let (status, made) = scene.rent(&before[0], body()).await;
    assert_eq!((status, &made["success"]), (200, &json!(true)));
    assert_eq!(scene.offers(search()).await.len(), before.len() - 1);
    let (status, no) = scene.rent(&before[0], body()).await;
    assert_eq!(status, 404);
    assert!(no["msg"].as_str().unwrap().contains("no_such_ask"), "{no}");
    let path = format!("/api/v0/instances/{}", made["new_contract"]);
    let (status, _) = scene.json(Method::DELETE, &path, json!({})).await;
    assert_eq!(status, 200);
    assert_eq!(scene.offers(search()).await.len(), before.len());
    let (status, no) = scene.json(Method::DELETE, &path, json!({})).await;
    assert_eq!((status, &no["error"]), (404, &json!("no_such_instance")));
}

#[tokio::test]
async fn a_search_filters_sorts_and_knows_its_fields() {
    let scene = Scene::new().await;
    let search = json!({
        "verified": { "eq": true }, "gpu_ram": { "gte": 24_000 }, "num_gpus": { "in": [1, 2] },
        "geolocation": { "in": ["SE"] }, "order": [["dph_total", "desc"]], "limit": 5,
    });
    let found = scene.offers(search).await;
    let prices: Vec<f64> = found
        .iter()
        .map(|it| it["dph_total"].as_f64().unwrap())
        .collect();
    assert_eq!(found.len(), 5);
    assert!(prices.is_sorted_by(|a, b| a >= b), "{prices:?}");
    assert!(found.iter().all(|it| it["verification"] == "verified"));
    for odd in [
        json!({ "gpu": { "eq": "x" } }),
        json!({ "gpu_ram": 7 }),
        json!({ "type": "spot" }),
    ] {
        let (status, _) = scene.json(Method::POST, "/api/v0/bundles", odd).await;
        assert_eq!(status, 400);
    }
}

#[tokio::test]
async fn what_the_schema_refuses_is_refused() {
    let scene = Scene::new().await;
    let offer = scene.offers(json!({})).await[0].clone();
    let odd = [
        ("image", json!("")),
        ("disk", json!(7)),
        ("label", json!("x".repeat(257))),
        ("runtype", json!("vm")),
        ("price", json!(0)),
        ("env", json!({ "A": 1 })),
        ("gpu", json!("L40S")),
    ];
    for (field, value) in odd {
        let mut body = body();
        body[field] = value;
        let (status, no) = scene.rent(&offer, body).await;
        assert_eq!((status, &no["success"]), (400, &json!(false)), "{field}");
    }
    assert_eq!(scene.fake.truth()["made"], 0);
}

#[tokio::test]
async fn calls_that_come_too_early_are_refused_in_two_shapes_and_held_against_us() {
    let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let settings = Settings {
        spaced: true,
        ..Settings::quick()
    };
    let scene = Scene::with(time.clock(), settings).await;
    let list = || scene.call(Method::GET, "/api/v1/instances", json!({}));
    assert_eq!(list().await.0, 200);
    for _ in 0..2 {
        let (status, words) = list().await;
        assert_eq!(status, 429);
        assert!(words.contains("endpoint threshold=1.0"), "{words}");
    }
    time.advance(Duration::from_secs(1));
    assert_eq!(list().await.0, 429, "it is held against us");
    time.advance(Duration::from_secs(3));
    assert_eq!(list().await.0, 200);
}

/// A stopped instance still pays for its disk, a destroyed one for nothing.
#[tokio::test]
async fn what_exists_costs_and_what_is_stopped_costs_its_storage() {
    let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let scene = Scene::with(time.clock(), Settings::quick()).await;
    let offer = scene
        .offers(json!({ "gpu_name": { "eq": "H100 SXM" } }))
        .await[0]
        .clone();
    let (_, made) = scene.rent(&offer, body()).await;
    let usd = || scene.fake.truth()["instances"][0]["usd"].as_f64().unwrap();
    let hour = Duration::from_secs(3_600);
    time.advance(hour);
    let running = usd();
    assert!(running > offer["dph_base"].as_f64().unwrap());
    scene.fake.outbid(made["new_contract"].as_u64().unwrap());
    time.advance(hour);
    let stopped = usd() - running;
    assert!(stopped > 0.0 && stopped < 0.01, "{stopped}");
}

#[tokio::test]
async fn keys_that_do_not_count_are_answered_in_the_services_own_ways() {
    let scene = Scene::new().await;
    let ask = |method: Method, path: &str| {
        let request = scene
            .http
            .request(method, format!("{}{path}", scene.fake.url));
        request.bearer_auth("another").send()
    };
    let search = ask(Method::POST, "/api/v0/bundles").await.unwrap();
    assert_eq!(search.status(), 404);
    assert!(search.text().await.unwrap().contains("Invalid user key"));
    let list = ask(Method::GET, "/api/v1/instances").await.unwrap();
    assert_eq!(list.status(), 401);
}
