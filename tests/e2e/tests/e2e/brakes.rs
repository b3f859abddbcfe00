//! What budgets do about pods that turn out dearer than was asked for them, and what
//! is told of it.

use serde_json::{Value, json};
use thermocline_policy::NanoUsd;
use thermocline_server::BudgetConfig;
use thermocline_support::provider::{Call, FakeProvider};
use thermocline_support::system::{Setup, manual_clock};

use crate::scene::{SECOND, Scene, ok, pod, secs};

/// At most $5 an hour for everything; the cloud's offers say $1.20.
async fn scene() -> Scene {
    let time = manual_clock();
    let cloud = FakeProvider::new(&time.clock(), |_| ok().into());
    let mut setup = Setup::new().on(&time).provider("toy", cloud.clone());
    setup.budget = BudgetConfig {
        usd_per_hour: Some(NanoUsd::from_usd(5.0)),
        ..BudgetConfig::default()
    };
    let system = setup.start().await;
    Scene {
        time,
        cloud,
        system,
    }
}

async fn serve(scene: &Scene) -> u16 {
    let sent = scene.send("60s").await;
    scene.answered(SECOND / 2, sent).await.status
}

async fn brake(scene: &Scene) -> Value {
    scene.status().await["budget"]["pod"].clone()
}

#[tokio::test]
async fn the_price_of_a_pod_that_is_gone_is_not_that_of_the_next() {
    let scene = scene().await;
    scene.deploy(pod("10m"), json!({})).await;
    assert_eq!(serve(&scene).await, 200);
    let asked = scene.cloud.truth().count(Call::Offers);
    scene.cloud.set_price(50.0);
    scene.pass(secs(20)).await;
    assert_eq!(scene.cloud.truth().live.len(), 0, "it does not fit");
    scene.cloud.set_price(1.2);
    assert_eq!(brake(&scene).await["brake"], "off");
    assert_eq!(serve(&scene).await, 200);
    let truth = scene.cloud.truth();
    assert_eq!((truth.created, truth.live.len()), (2, 1));
    assert_eq!(truth.count(Call::Offers) - asked, 1, "asked for anew, once");
}

#[tokio::test]
async fn offers_that_two_pods_belie_are_not_believed_and_explain_says_until_when() {
    let scene = scene().await;
    scene.cloud.set_price(50.0);
    let tiers = json!({ "pod": { "provider": "toy", "min_instances": 1 } });
    scene.deploy(tiers, json!({})).await;
    scene.pass(secs(300)).await;
    let truth = scene.cloud.truth();
    assert_eq!((truth.created, truth.live.len()), (2, 0));
    let told = brake(&scene).await;
    assert_eq!(told["brake"], "no_start", "{told}");
    let why = "the server's ceiling of $5 an hour: a pod would cost $50 an hour";
    assert_eq!(told["why"], why);
    let until = told["until"].as_str().unwrap();
    let price = "a higher ceiling, or a lower price, for which its provider is asked at ";
    assert!(until.starts_with(price), "{until}");
    scene.cloud.set_price(1.2);
    scene.pass_in(secs(600), secs(5)).await;
    assert_eq!(
        scene.cloud.truth().live.len(),
        1,
        "no price is held for ever"
    );
}

#[tokio::test]
async fn a_pod_that_became_too_dear_is_told_once_with_its_price_as_stopped_by_us() {
    let scene = scene().await;
    scene.deploy(pod("10m"), json!({})).await;
    assert_eq!(serve(&scene).await, 200);
    scene.cloud.set_price(50.0);
    scene.pass(secs(60)).await;
    let events = crate::events::told(&scene).await;
    let why = "the server's ceiling of $5 an hour: its pods cost $50 an hour together";
    assert!(events.contains(why), "{events}");
    let told = |kind: &str| events.matches(&format!("\"kind\":\"{kind}\"")).count();
    assert_eq!((told("instance.stopping"), told("instance.lost")), (1, 0));
    assert!(!events.contains("$100"), "it is no two pods: {events}");
    // Told where the look at budgets of each second was first to see it.
    let brakes = (told("budget.braked"), told("budget.released"));
    assert!([(0, 0), (1, 1)].contains(&brakes), "{events}");
}
