//! What is rented, for how much, and what becomes of offers that vanish.

use serde_json::json;
use thermocline_clock::Clock;
use thermocline_fake_vast::{Faults, Settings as FakeSettings};
use thermocline_policy::Tier;
use thermocline_provider::cloud::SECRET_HEADER;
use thermocline_provider::{OfferQuery, Provider, ProviderErrorKind as Kind, ProviderState};
use thermocline_vast::Settings;

use crate::scene::{KEY, Scene, request, with};

#[tokio::test]
async fn the_cheapest_offer_that_fits_is_rented_and_its_price_is_with_storage() {
    let scene = Scene::new().await;
    let wanted = with(json!({ "vram_mib": 40_960 }));
    let made = scene.provider.create("key", &wanted).await.unwrap();
    assert_eq!(scene.live()[0]["gpu_name"], "L40S");
    let told = scene.ready(&made.id).await.usd_per_hour.unwrap();
    assert!(told > 0.8, "{told} is more than the machine alone");
    assert!((made.usd_per_hour.unwrap() - told).abs() < 1e-9);
}

#[tokio::test]
async fn an_offer_that_was_taken_meanwhile_is_followed_by_the_next() {
    let scene = Scene::new().await;
    scene.faults(Faults {
        taken_offers: 2,
        ..Faults::default()
    });
    scene.create().await;
    assert_eq!((scene.live().len(), scene.made()), (1, 1));
}

#[tokio::test]
async fn the_next_gpu_of_the_list_is_taken_when_all_of_the_first_are_gone() {
    let scene = Scene::new().await;
    scene.faults(Faults {
        taken_gpus: vec!["RTX 3090".into()],
        ..Faults::default()
    });
    let wanted = with(json!({ "gpu": ["RTX_3090", "RTX_4090"] }));
    scene.provider.create("key", &wanted).await.unwrap();
    assert_eq!(scene.live()[0]["gpu_name"], "RTX 4090");
}

#[tokio::test]
async fn f10_nothing_for_rent_is_no_capacity_and_makes_nothing() {
    let scene = Scene::new().await;
    let everything = || vec!["*".to_owned()];
    let nothing_shown = Faults {
        no_stock: everything(),
        ..Faults::default()
    };
    let all_taken = Faults {
        taken_gpus: everything(),
        ..Faults::default()
    };
    for faults in [nothing_shown, all_taken] {
        scene.faults(faults);
        let error = scene.provider.create("key", &request()).await.unwrap_err();
        assert_eq!(error.kind, Kind::NoCapacity);
    }
    scene.faults(Faults::default());
    scene.create().await;
    assert_eq!((scene.live().len(), scene.made()), (1, 1));
}

/// A bid below the market is answered with an error, and makes an instance.
#[tokio::test]
async fn what_a_refused_create_left_is_destroyed_before_the_next_is_tried() {
    let bids = Settings {
        bid: Some(1.0),
        ..Settings::default()
    };
    let scene = Scene::with(Clock::system(), FakeSettings::quick(), bids).await;
    scene.faults(Faults {
        underbid: 2,
        ..Faults::default()
    });
    let made = scene.create().await;
    assert_eq!(scene.made(), 3);
    let live = scene.live();
    assert_eq!((live.len(), &live[0]["is_bid"]), (1, &json!(true)));
    assert_eq!(live[0]["id"].to_string(), made.id);
}

#[tokio::test]
async fn what_a_refused_create_left_and_cannot_be_destroyed_is_found_again() {
    let scene = Scene::new().await;
    scene.faults(Faults {
        underbid: 1,
        ignored_deletes: 1,
        ..Faults::default()
    });
    let error = scene.provider.create("key", &request()).await.unwrap_err();
    assert_eq!(error.kind, Kind::Unavailable);
    let found = scene.create().await;
    assert_eq!(
        (found.state, scene.live().len()),
        (ProviderState::Failed, 1)
    );
}

#[tokio::test]
async fn an_interruptible_instance_that_is_outbid_has_failed() {
    let bids = Settings {
        bid: Some(1.5),
        ..Settings::default()
    };
    let scene = Scene::with(Clock::system(), FakeSettings::quick(), bids).await;
    let made = scene.create().await;
    let price = scene.ready(&made.id).await.usd_per_hour.unwrap();
    assert!(
        (0.15..0.2).contains(&price),
        "one and a half times 0.10, and storage"
    );
    scene.fake.outbid(made.id.parse().unwrap());
    let seen = scene.provider.get(&made.id).await.unwrap().unwrap();
    assert_eq!(seen.state, ProviderState::Failed);
    assert!(seen.detail.contains("bids more"), "{}", seen.detail);
}

#[tokio::test]
async fn offers_are_the_cheapest_of_each_type_that_fits() {
    let scene = Scene::new().await;
    let ask = |tier, gpus| OfferQuery {
        tier,
        vram_mib: 40 * 1_024,
        gpus,
    };
    let offers = scene.provider.offers(ask(Tier::Pod, 2)).await.unwrap();
    let ids: Vec<&str> = offers.iter().map(|offer| offer.id.as_str()).collect();
    assert_eq!(ids, ["H100 SXM", "L40S"]);
    assert!((offers[1].usd_per_hour.unwrap() - 1.6).abs() < 0.01);
    assert_eq!(
        scene.provider.offers(ask(Tier::Serverless, 1)).await,
        Ok(vec![])
    );
    let capable = scene.provider.capabilities().await.unwrap();
    assert_eq!(capable.tiers, [Tier::Pod]);
}

/// An instance's port is public: an image that checks the secret lets only us in.
#[tokio::test]
async fn an_instance_that_checks_its_secret_lets_us_in_and_nobody_else() {
    let scene = Scene::new().await;
    let checks = with(json!({ "env": { "FAKE_CHECKS_SECRET": "1" } }));
    let made = scene.provider.create("key", &checks).await.unwrap();
    let address = scene.ready(&made.id).await.address.unwrap();
    assert!(!format!("{address:?}").contains(KEY));
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let stranger = http.get(&address.url).send().await.unwrap().status();
    let secret = &address.headers[SECRET_HEADER];
    let ours = http.get(&address.url).header(SECRET_HEADER, secret).send();
    let ours = ours.await.unwrap().status();
    assert_eq!((stranger.as_u16(), ours.as_u16()), (401, 200));
}

#[tokio::test]
async fn a_spent_balance_is_told_as_no_credit() {
    let scene = Scene::new().await;
    scene.faults(Faults {
        broke: true,
        ..Faults::default()
    });
    let error = scene.provider.create("key", &request()).await.unwrap_err();
    assert_eq!(error.kind, Kind::NoCredit);
    assert!(error.detail.contains("credit"), "{error}");
}
