//! What is made, of what, and with which secret.

use serde_json::json;
use thermocline_fake_runpod::Faults;
use thermocline_policy::Tier;
use thermocline_provider::{OfferQuery, Provider, ProviderErrorKind as Kind};
use thermocline_runpod::EndpointType;

use crate::scene::{KEY, Scene, request, with};

const LB: EndpointType = EndpointType::LoadBalancer;

fn out_of(words: &[&str]) -> Faults {
    let no_stock = words.iter().map(|word| word.to_string()).collect();
    Faults {
        no_stock,
        ..Faults::default()
    }
}

#[tokio::test]
async fn the_next_gpu_of_the_list_is_taken_when_one_is_out_of_stock() {
    let scene = Scene::new(LB).await;
    scene.faults(out_of(&["NVIDIA L4"]));
    let wanted = with(Tier::Pod, json!({ "gpu": ["NVIDIA L4", "RTX 4090"] }));
    let made = scene.provider.create("key", &wanted).await.unwrap();
    assert_eq!(made.usd_per_hour, Some(0.69));
    let truth = scene.fake.truth();
    assert_eq!(truth["pods"][0]["gpu"]["id"], "NVIDIA GeForce RTX 4090");
}

#[tokio::test]
async fn no_stock_anywhere_is_no_capacity_and_makes_nothing() {
    let scene = Scene::new(LB).await;
    scene.faults(out_of(&["*"]));
    let error = scene
        .provider
        .create("key", &request(Tier::Pod))
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::NoCapacity);
    assert!(error.before_effect());
    scene.faults(Faults::default());
    scene.create(Tier::Pod).await;
    assert_eq!(scene.live(), (1, 0));
}

#[tokio::test]
async fn a_full_worker_quota_is_quota_and_an_empty_balance_is_no_credit() {
    let scene = Scene::new(LB).await;
    let many = with(Tier::Serverless, json!({ "max_workers": 11 }));
    let error = scene.provider.create("key", &many).await.unwrap_err();
    assert_eq!(error.kind, Kind::Quota);
    assert!(error.detail.contains("workers quota"), "{error}");
    scene.faults(Faults {
        broke: true,
        ..Faults::default()
    });
    let error = scene
        .provider
        .create("key", &request(Tier::Pod))
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::NoCredit);
}

#[tokio::test]
async fn what_asks_for_no_gpu_gets_none() {
    let scene = Scene::new(LB).await;
    let plain = with(Tier::Pod, json!({ "gpus": 0, "cpus": 3.0 }));
    let made = scene.provider.create("key", &plain).await.unwrap();
    assert_eq!(made.usd_per_hour, Some(0.12));
    let plain = with(Tier::Serverless, json!({ "gpus": 0 }));
    scene.provider.create("other", &plain).await.unwrap();
    assert_eq!(scene.live(), (1, 1));
}

#[tokio::test]
async fn offers_are_the_catalogue_that_fits() {
    let scene = Scene::new(LB).await;
    let ask = |tier| OfferQuery {
        tier,
        vram_mib: 40 * 1_024,
        gpus: 2,
    };
    let pods = scene.provider.offers(ask(Tier::Pod)).await.unwrap();
    let ids: Vec<&str> = pods.iter().map(|offer| offer.id.as_str()).collect();
    assert_eq!(ids, ["NVIDIA L40S", "NVIDIA H100 80GB HBM3"]);
    assert_eq!(pods[0].usd_per_hour, Some(1.72));
    let pools = scene.provider.offers(ask(Tier::Serverless)).await.unwrap();
    assert_eq!(pools[0].id, "ADA_48_PRO");
    assert!((pools[0].usd_per_second.unwrap() - 2.0 * 1.9 / 3_600.0).abs() < 1e-12);
    assert!(
        scene
            .provider
            .offers(ask(Tier::Local))
            .await
            .unwrap()
            .is_empty()
    );
}

/// The pod proxy is public: an image that checks the secret lets only us in.
#[tokio::test]
async fn a_pod_that_checks_its_secret_lets_us_in_and_nobody_else() {
    let scene = Scene::new(LB).await;
    let checks = with(Tier::Pod, json!({ "env": { "FAKE_CHECKS_SECRET": "1" } }));
    let made = scene.provider.create("key", &checks).await.unwrap();
    let address = scene.ready(&made.id).await.address.unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut looks = tokio::time::interval(std::time::Duration::from_millis(5));
    loop {
        looks.tick().await;
        let stranger = http.get(&address.url).send().await.unwrap().status();
        let mut ours = http.get(&address.url);
        for (name, value) in &scene.provider.reach(&address).headers {
            ours = ours.header(name, value);
        }
        let ours = ours.send().await.unwrap().status();
        if stranger != 502 && ours != 502 {
            assert_eq!((stranger.as_u16(), ours.as_u16()), (401, 200));
            return;
        }
    }
}

#[tokio::test]
async fn the_key_is_in_no_address_that_is_written_down() {
    let scene = Scene::new(LB).await;
    for tier in [Tier::Pod, Tier::Serverless] {
        let made = scene
            .provider
            .create(tier.as_str(), &request(tier))
            .await
            .unwrap();
        let ready = scene.ready(&made.id).await;
        assert!(!format!("{ready:?} {:?}", scene.provider.capabilities().await).contains(KEY));
        let used = scene.provider.reach(&ready.address.unwrap());
        assert_eq!(format!("{used:?}").contains(KEY), tier == Tier::Serverless);
    }
    assert_eq!(scene.fake.truth()["endpoints"][0]["timeout"], 600_000);
}
