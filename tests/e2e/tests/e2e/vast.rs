//! Deployments whose pods are rented on Vast.ai's market: offers vanish,
//! processes die in the middle of renting, and nothing is left there that
//! nobody wants.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use thermocline_clock::ManualClock;
use thermocline_fake_vast::{FakeVast, Faults, Settings as FakeSettings};
use thermocline_support::provider::FakeProvider;
use thermocline_support::system::{Setup, manual_clock};
use thermocline_vast::{Account, Settings, Spacing, VastProvider};

use crate::scene::{SECOND, Scene, ok, secs};

const KEY: &str = "sentinel-vast-key";

/// A system whose provider `vast` is a fake account, and `toy` another cloud.
struct Vast {
    scene: Scene,
    fake: FakeVast,
}

impl Vast {
    async fn new() -> Vast {
        let time = manual_clock();
        let settings = FakeSettings {
            provisioning: SECOND,
            loading: SECOND,
            mapping: SECOND,
            service_time: Duration::ZERO,
            ..FakeSettings::quick()
        };
        let fake = FakeVast::anywhere(KEY, time.clock(), settings)
            .await
            .unwrap();
        let cloud = FakeProvider::new(&time.clock(), |_| ok().into());
        let setup = Setup::new().on(&time).provider("toy", cloud.clone());
        let setup = setup.provider("vast", adapter(&fake, &time));
        let system = setup.start().await;
        let scene = Scene {
            system,
            cloud,
            time,
        };
        scene.settle().await;
        Vast { scene, fake }
    }

    /// `kill -9`, and a process that knows nothing but the store.
    async fn crash(mut self) -> Vast {
        let mut setup = self.scene.system.crash();
        setup.providers.retain(|(name, _)| name != "vast");
        let setup = setup.provider("vast", adapter(&self.fake, &self.scene.time));
        self.scene.system = setup.start().await;
        self
    }

    async fn deploy(&self, tiers: Value) {
        let more = json!({
            "health": { "ready": { "path": "/ping" } },
            "policy": { "window": "10s", "promote_rps": 2, "demote_rps": 1 },
        });
        self.scene.deploy(tiers, more).await;
    }

    fn live(&self) -> Vec<Value> {
        self.fake.truth()["instances"].as_array().unwrap().clone()
    }

    fn made(&self) -> u64 {
        self.fake.truth()["made"].as_u64().unwrap()
    }

    /// One request, time passing until it is answered; the tier that served it.
    async fn served(&self) -> String {
        let request = self.scene.send("5m").await;
        let response = self.scene.answered(SECOND / 10, request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.header("x-thermocline-tier").unwrap().to_owned()
    }

    /// Deletes the deployment; what is left at the market then is a stranger's.
    async fn torn_down(&self) {
        let (status, _) = self
            .scene
            .admin(reqwest::Method::DELETE, "/deployments/m")
            .await;
        assert_eq!(status, 202);
        self.scene
            .until(SECOND, async || self.live().is_empty())
            .await;
    }
}

fn adapter(fake: &FakeVast, time: &ManualClock) -> VastProvider {
    let account = Account::new(KEY.to_owned(), &fake.url, time.clock(), Spacing::NONE);
    VastProvider::new(Arc::new(account.unwrap()), Settings::default())
}

fn pod(gpu: Value) -> Value {
    json!({ "pod": { "provider": "vast", "gpu": gpu, "idle_timeout": "10m" } })
}

#[tokio::test]
async fn a_pod_is_promoted_by_rate_serves_and_is_destroyed_when_it_is_not_wanted() {
    let vast = Vast::new().await;
    let mut tiers = pod(json!(["RTX 4090"]));
    tiers["serverless"] = json!({ "provider": "toy" });
    vast.deploy(tiers).await;
    assert_eq!(vast.served().await, "serverless");
    assert_eq!(vast.made(), 0);
    let three_a_second = async || {
        vast.served().await;
        vast.served().await;
        vast.served().await == "pod"
    };
    vast.scene.until(SECOND, three_a_second).await;
    assert_eq!(vast.live()[0]["gpu_name"], "RTX 4090");
    let seldom = async || vast.served().await == "serverless";
    vast.scene.until(secs(4), seldom).await;
    let gone = async || vast.live().is_empty();
    vast.scene.until(SECOND, gone).await;
    assert_eq!(vast.made(), 1);
    assert_eq!(
        vast.scene.transitions().await,
        ["serverless→pod", "pod→serverless"]
    );
}

#[tokio::test]
async fn an_offer_that_vanishes_is_followed_by_the_next_one() {
    let vast = Vast::new().await;
    vast.fake.set_faults(Faults {
        taken_offers: 1,
        taken_gpus: vec!["RTX 3090".into()],
        ..Faults::default()
    });
    vast.deploy(pod(json!(["RTX 3090", "RTX 4090"]))).await;
    assert_eq!(vast.served().await, "pod");
    assert_eq!((vast.live().len(), vast.made()), (1, 1));
    assert_eq!(vast.live()[0]["gpu_name"], "RTX 4090");
    vast.torn_down().await;
}

#[tokio::test]
async fn nothing_for_rent_is_told_as_no_capacity() {
    let vast = Vast::new().await;
    vast.fake.set_faults(Faults {
        no_stock: vec!["*".into()],
        ..Faults::default()
    });
    vast.deploy(pod(json!([]))).await;
    let request = vast.scene.send("5m").await;
    let response = vast.scene.answered(SECOND / 10, request).await;
    assert_eq!(response.status, 503, "{}", response.text());
    assert!(
        response.text().contains("no_capacity"),
        "{}",
        response.text()
    );
    assert_eq!(vast.made(), 0);
}

/// The reply of the create is lost, the list lags, and the process that asked
/// is killed: the next one finds what was rented and rents nothing else.
#[tokio::test]
async fn a_kill_in_the_middle_of_a_create_leaves_one_instance_that_serves() {
    let vast = Vast::new().await;
    vast.fake.set_faults(Faults {
        cut_after: 1,
        list_lag_s: 20.0,
        ..Faults::default()
    });
    vast.deploy(pod(json!([]))).await;
    let lost = vast.scene.send("5m").await;
    vast.scene
        .until(SECOND / 10, async || vast.made() == 1)
        .await;
    let vast = vast.crash().await;
    lost.abort();
    assert_eq!(vast.served().await, "pod");
    vast.scene.pass(secs(60)).await;
    assert_eq!((vast.live().len(), vast.made()), (1, 1));
    let instances = vast.scene.admin(reqwest::Method::GET, "/instances").await.1;
    assert!(!instances.to_string().contains(KEY));
    vast.torn_down().await;
}

#[tokio::test]
async fn an_instance_whose_gpu_was_given_to_others_is_replaced() {
    let vast = Vast::new().await;
    vast.deploy(pod(json!([]))).await;
    vast.served().await;
    let first = vast.live()[0]["id"].as_u64().unwrap();
    assert!(vast.fake.outbid(first));
    vast.scene
        .until(SECOND, async || vast.live().is_empty())
        .await;
    assert_eq!(vast.served().await, "pod");
    assert_eq!((vast.live().len(), vast.made()), (1, 2));
    vast.torn_down().await;
}

/// A tier that a provider does not sell is refused when it is written, with the
/// field and who sells it; nothing is stored.
#[tokio::test]
async fn a_tier_that_its_provider_does_not_sell_is_refused() {
    let vast = Vast::new().await;
    let body = json!({
        "name": "m", "image": "i:1", "tiers": { "serverless": { "provider": "vast" } },
    });
    let put = || reqwest::Method::PUT;
    let admin = &vast.scene.system.admin;
    // What a provider sells is known once it has been asked.
    let dry = json!({ "items": [&body], "dry_run": true });
    let refused = async || admin.call(put(), "/deployments", Some(&dry)).await.0 == 400;
    vast.scene.until(SECOND, refused).await;
    let (status, problem) = admin.call(put(), "/deployments/m", Some(&body)).await;
    assert_eq!(status.as_u16(), 400, "{problem}");
    let error = &problem["errors"][0];
    assert_eq!(error["field"], "tiers.serverless.provider");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with("sells no serverless; these do: ") && message.ends_with("toy"),
        "{message}"
    );
    let (status, _) = vast
        .scene
        .admin(reqwest::Method::GET, "/deployments/m")
        .await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn what_vast_can_never_do_is_refused_when_it_is_written() {
    let vast = Vast::new().await;
    let spec = json!({
        "name": "m", "image": "i:1", "command": ["sh"], "env": { "A-B": "1" },
        "tiers": pod(json!(["L40S", "RTX_4090", "RTX 5O90"])),
    });
    let admin = &vast.scene.system.admin;
    let made = admin.call(reqwest::Method::POST, "/deployments", Some(&spec));
    let (status, body) = made.await;
    assert_eq!(status, 400);
    let errors = body["errors"].as_array().unwrap();
    let fields: Vec<&str> = errors
        .iter()
        .filter_map(|it| it["field"].as_str())
        .collect();
    assert_eq!(fields, ["command", "env.A-B", "tiers.pod.gpu[2]"]);
    let message = errors[2]["message"].as_str().unwrap();
    assert!(message.contains("it has RTX 3090, "), "{message}");
}
