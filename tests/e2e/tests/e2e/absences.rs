//! What pods cost while no server counts it.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use thermocline_support::provider::FakeProvider;
use thermocline_support::system::{Setup, manual_clock};

use crate::scene::{SECOND, Scene, ok, pod, secs};

const HOUR: Duration = Duration::from_secs(3_600);
/// What a pod of the cloud costs.
const USD_PER_HOUR: f64 = 1.2;

async fn spent(scene: &Scene) -> f64 {
    let (_, costs) = scene.admin(Method::GET, "/costs").await;
    costs["total_usd"].as_f64().unwrap()
}

/// A scene with one pod that is always there.
async fn with_a_pod(budget: serde_json::Value) -> Scene {
    let scene = Scene::new(ok()).await;
    let tiers = json!({ "pod": { "provider": "toy", "min_instances": 1 } });
    scene.deploy(tiers, json!({ "budget": budget })).await;
    scene.until_live(1).await;
    scene
}

/// However often a server is killed, a day's budget holds.
#[tokio::test]
async fn a_pod_is_charged_through_every_kill_and_its_budget_stops_it() {
    let mut scene = with_a_pod(json!({ "usd_per_day": 1.3 })).await;
    let begun = scene.time.now();
    for _ in 0..20 {
        scene.pass(secs(7)).await;
        scene = scene.crash(secs(120)).await;
    }
    let due = scene.time.now().since(begun).as_secs_f64() / 3_600.0 * USD_PER_HOUR;
    let paid = spent(&scene).await;
    assert!((0.98..=1.02).contains(&(paid / due)), "{paid} of {due}");
    let today = scene.status().await["budget"]["spent_today_usd"].clone();
    assert!(today.as_f64().unwrap() >= 0.98 * due, "{today} of {due}");
    let scene = scene.crash(HOUR / 2).await;
    scene.until_live(0).await;
}

/// Yesterday's part of an absence leaves today's budget alone.
#[tokio::test]
async fn an_absence_over_midnight_counts_to_the_day_that_it_was_in() {
    let scene = with_a_pod(json!({ "usd_per_day": 100 })).await;
    // The clock begins at 08:00.
    let scene = scene.crash(17 * HOUR).await;
    scene.pass(secs(2)).await;
    let paid = spent(&scene).await;
    assert!((paid / (17.0 * USD_PER_HOUR) - 1.0).abs() < 0.01, "{paid}");
    let today = scene.status().await["budget"]["spent_today_usd"].clone();
    let today = today.as_f64().unwrap();
    assert!((today / USD_PER_HOUR - 1.0).abs() < 0.02, "{today}");
}

/// What a process that is killed had charged is not charged again by the next.
#[tokio::test]
async fn restarts_alone_cost_nothing() {
    let mut scene = with_a_pod(json!({ "usd_per_day": 100 })).await;
    scene.pass(secs(60)).await;
    let before = spent(&scene).await;
    for _ in 0..5 {
        scene = scene.crash(Duration::ZERO).await;
    }
    let after = spent(&scene).await;
    let second = USD_PER_HOUR / 3_600.0;
    assert!((after - before).abs() <= 2.0 * second, "{before} {after}");
}

/// A pod whose end was seen is paid for until then, also if that was all that
/// this process ever did.
#[tokio::test]
async fn what_a_pod_has_cost_outlives_its_row() {
    let scene = with_a_pod(json!({ "usd_per_day": 100 })).await;
    let begun = scene.time.now();
    scene.pass(secs(8)).await;
    let instances = async || scene.status().await["instances"].clone();
    let idle = json!({ "pod": { "min_instances": 0, "idle_timeout": "1s" } });
    scene
        .system
        .admin
        .patch("m", json!({ "tiers": idle }))
        .await;
    scene.until_live(0).await;
    scene
        .until(SECOND, async || instances().await == json!([]))
        .await;
    let due = scene.time.now().since(begun).as_secs_f64() / 3_600.0 * USD_PER_HOUR;
    let scene = scene.crash(HOUR).await;
    let paid = spent(&scene).await;
    assert!((0.9..=1.01).contains(&(paid / due)), "{paid} of {due}");
}

/// Where the provider ends what nobody renews, no more than that is charged.
#[tokio::test]
async fn a_pod_that_its_provider_ended_meanwhile_is_charged_until_then() {
    let time = manual_clock();
    let cloud = FakeProvider::new(&time.clock(), |_| ok().into());
    cloud.limit_lifetimes();
    let mut setup = Setup::new().on(&time).provider("toy", cloud.clone());
    setup.budget.max_absence = HOUR;
    let system = setup.start().await;
    let scene = Scene {
        time,
        cloud,
        system,
    };
    scene.deploy(pod("10h"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    scene.pass(secs(30)).await;
    let scene = scene.crash(10 * HOUR).await;
    let paid = spent(&scene).await;
    let hours = paid / USD_PER_HOUR;
    assert!((1.0..=1.02).contains(&hours), "{hours} hours");
}
