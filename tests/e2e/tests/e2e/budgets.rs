//! Budgets hold: what they refuse, what they stop, and when they let go.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_policy::{NanoUsd, Tier, UsdPerSecond};
use thermocline_server::BudgetConfig;
use thermocline_support::backend::{Latch, Script};
use thermocline_support::client::Response;
use thermocline_support::provider::{Boot, Call, FakeProvider, offer};
use thermocline_support::system::{Setup, manual_clock};

use crate::scene::{SECOND, Scene, both_tiers, ok, pod, secs, two_and_one};

/// A pod of the cloud costs $1.20 an hour; the clock begins at 08:00 UTC.
async fn scene(budget: BudgetConfig) -> Scene {
    let time = manual_clock();
    let cloud = FakeProvider::new(&time.clock(), |_| ok().into());
    let mut setup = Setup::new().on(&time).provider("toy", cloud.clone());
    setup.budget = budget;
    let system = setup.start().await;
    Scene {
        time,
        cloud,
        system,
    }
}

fn hourly(usd: f64) -> BudgetConfig {
    BudgetConfig {
        usd_per_hour: Some(NanoUsd::from_usd(usd)),
        ..BudgetConfig::default()
    }
}

fn minutes(minutes: u64) -> Duration {
    secs(minutes * 60)
}

fn code(response: &Response) -> String {
    let problem: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    problem["code"].as_str().unwrap_or_default().to_owned()
}

async fn spent(scene: &Scene) -> f64 {
    let (_, costs) = scene.admin(Method::GET, "/costs").await;
    costs["total_usd"].as_f64().unwrap()
}

fn live(scene: &Scene) -> usize {
    scene.cloud.truth().live.len()
}

/// A pinned pod that is always busy costs no cent more than a day's budget.
#[tokio::test]
async fn a_days_budget_stops_a_pinned_pod_and_a_raise_brings_it_back() {
    let scene = scene(BudgetConfig::default()).await;
    let tiers = json!({ "pod": { "provider": "toy", "min_instances": 1 } });
    scene
        .deploy(tiers, json!({ "budget": { "usd_per_day": 1.3 } }))
        .await;
    scene.until_live(1).await;
    scene.pass_in(minutes(70), secs(20)).await;
    assert_eq!(live(&scene), 0, "stopped");
    let paid = spent(&scene).await;
    assert!((1.2..=1.3).contains(&paid), "{paid}");
    let refused = scene.get().await;
    assert_eq!((refused.status, code(&refused).as_str()), (503, "budget"));
    let retry: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=120).contains(&retry), "{retry}");
    assert_eq!(refused.header("x-thermocline-reason"), Some("budget"));
    let budget = scene.status().await["budget"].clone();
    assert_eq!(budget["pod"]["brake"], "no_start", "{budget}");
    let events = crate::events::told(&scene).await;
    assert!(events.contains("budget.braked"), "{events}");

    let scene = scene.crash(SECOND).await;
    scene.pass(secs(5)).await;
    assert_eq!(live(&scene), 0, "what was spent outlives the process");

    let raised = json!({ "budget": { "usd_per_day": 3.0 } });
    scene.system.admin.patch("m", raised).await;
    scene.until_live(1).await;
}

#[tokio::test]
async fn a_new_day_begins_with_a_whole_budget() {
    let scene = scene(BudgetConfig::default()).await;
    let tiers = json!({ "pod": { "provider": "toy", "min_instances": 1 } });
    scene
        .deploy(tiers, json!({ "budget": { "usd_per_day": 1.3 } }))
        .await;
    scene.pass_in(minutes(75), secs(20)).await;
    assert_eq!(live(&scene), 0);
    // From 09:15 to 23:45.
    scene.pass_in(minutes(14 * 60 + 30), minutes(60)).await;
    assert_eq!((live(&scene), scene.cloud.truth().created), (0, 1));
    scene.pass_in(minutes(16), secs(20)).await;
    scene.until_live(1).await;
}

/// Fifty deployments want a pod at the same time; the ceiling holds ten.
#[tokio::test]
async fn starts_of_many_deployments_never_exceed_a_ceiling_together() {
    let scene = scene(hourly(12.0)).await;
    for i in 0..50 {
        let spec = json!({ "name": format!("m{i}"), "image": "i:1", "tiers": pod("10m") });
        scene.system.admin.deploy(spec).await;
    }
    let mut sent = Vec::new();
    for i in 0..50 {
        let mut client = scene.system.client().await;
        sent.push(tokio::spawn(async move {
            let request = client.request("GET", &format!("/d/m{i}/x"));
            request.send().await.unwrap()
        }));
    }
    let done = async || sent.iter().all(tokio::task::JoinHandle::is_finished);
    scene.until(SECOND / 10, done).await;
    let mut answers = Vec::new();
    for request in sent {
        answers.push(request.await.unwrap());
    }
    let served = answers.iter().filter(|a| a.status == 200).count();
    let refused = answers.iter().filter(|a| code(a) == "budget").count();
    assert_eq!((served, refused), (10, 40));
    let truth = scene.cloud.truth();
    assert_eq!((truth.created, truth.live.len()), (10, 10));
}

/// What a ceiling refuses as a pod is served by serverless, and says so.
#[tokio::test]
async fn a_promotion_that_a_ceiling_refuses_stays_on_serverless_until_there_is_room() {
    let one = BudgetConfig {
        instances: Some(1),
        ..BudgetConfig::default()
    };
    let scene = scene(one).await;
    let tiers = json!({ "pod": { "provider": "toy", "min_instances": 1 } });
    let other = json!({ "name": "other", "image": "i:1", "tiers": tiers });
    scene.system.admin.deploy(other).await;
    scene.until_live(1).await;
    scene.deploy(both_tiers(), two_and_one()).await;
    let first = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND / 10, first).await.status, 200);
    for _ in 0..700 {
        assert_eq!(scene.get().await.status, 200);
    }
    let served = scene.get().await;
    let told = |name| served.header(name).map(str::to_owned);
    assert_eq!(told("x-thermocline-tier").as_deref(), Some("serverless"));
    assert_eq!(told("x-thermocline-reason").as_deref(), Some("budget"));
    let (_, decision) = scene.admin(Method::GET, "/deployments/m/decision").await;
    assert_eq!(decision["reason"], "budget", "{decision}");
    assert_eq!(decision["inputs"]["brakes"]["pod"], "no_start");
    assert!(scene.transitions().await.iter().all(|t| !t.contains("pod")));
    scene.admin(Method::DELETE, "/deployments/other").await;
    scene
        .until(SECOND, async || scene.status().await["tier"] == "pod")
        .await;
}

#[tokio::test]
async fn an_unknown_price_is_refused_under_a_ceiling_unless_one_is_assumed() {
    let unpriced = offer(None, None);
    let strict = scene(hourly(12.0)).await;
    strict.cloud.set_offers(Tier::Pod, vec![unpriced.clone()]);
    strict.deploy(pod("10m"), json!({})).await;
    let refused = strict.get().await;
    assert_eq!((refused.status, code(&refused).as_str()), (503, "budget"));
    assert_eq!(strict.cloud.truth().created, 0);

    let assumed = BudgetConfig {
        assumed_usd_per_hour: UsdPerSecond::hourly(2.0),
        ..hourly(12.0)
    };
    let scene = scene(assumed).await;
    scene.cloud.set_offers(Tier::Pod, vec![unpriced]);
    scene.deploy(pod("10m"), json!({})).await;
    let request = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND / 10, request).await.status, 200);
    let price = scene.status().await["instances"][0]["usd_per_hour"].clone();
    assert_eq!(price, 2.0);
}

#[tokio::test]
async fn an_offer_that_was_too_dear_for_a_moment_refuses_starts_for_a_minute() {
    let scene = scene(hourly(2.0)).await;
    scene
        .cloud
        .set_offers(Tier::Pod, vec![offer(Some(5.0), None)]);
    scene.deploy(pod("10m"), json!({})).await;
    assert_eq!(code(&scene.get().await), "budget");
    scene
        .cloud
        .set_offers(Tier::Pod, vec![offer(Some(1.2), None)]);
    scene.pass(secs(55)).await;
    assert_eq!(code(&scene.get().await), "budget");
    scene.pass(secs(10)).await;
    let request = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND / 10, request).await.status, 200);
}

/// A stream without end does not keep a pod beyond its budget.
#[tokio::test]
async fn work_without_end_is_cut_a_minute_after_the_budget_is_spent() {
    let latch = Latch::new();
    let held = latch.clone();
    let time = manual_clock();
    let cloud = FakeProvider::new(&time.clock(), move |_| {
        Script::from(ok()).on("/x", ok().held_until(&held))
    });
    let system = Setup::new()
        .on(&time)
        .provider("toy", cloud.clone())
        .start()
        .await;
    let scene = Scene {
        time,
        cloud,
        system,
    };
    let limits = json!({ "deadline": "24h", "first_byte": "24h" });
    let more = json!({ "budget": { "usd_per_day": 1.3 }, "limits": limits });
    scene.deploy(pod("10m"), more).await;
    let _endless = scene.send("23h").await;
    scene.until_live(1).await;
    scene.pass_in(minutes(70), secs(20)).await;
    assert_eq!(live(&scene), 0);
    assert!(spent(&scene).await <= 1.3);
    assert!(scene.cloud.truth().times(Call::Delete).next().is_some());
}

/// Two pods are allowed, three are wanted: the six are served by the two.
#[tokio::test]
async fn who_waits_for_a_pod_that_starts_is_held_where_a_further_one_is_refused() {
    let two = BudgetConfig {
        instances: Some(2),
        ..BudgetConfig::default()
    };
    let scene = scene(two).await;
    scene.cloud.set_boot(Boot::After(secs(20)));
    let tiers = json!({ "pod": { "provider": "toy", "max_instances": 3 } });
    let concurrency = json!({ "strategy": "exclusive", "workers": 3, "load": "per_worker" });
    scene
        .deploy(tiers, json!({ "concurrency": concurrency }))
        .await;
    let mut sent = Vec::new();
    for _ in 0..6 {
        sent.push(scene.send("60s").await);
    }
    scene.pass(secs(5)).await;
    assert!(
        sent.iter().all(|it| !it.is_finished()),
        "there are pods to wait for"
    );
    for request in sent {
        assert_eq!(scene.answered(SECOND / 2, request).await.status, 200);
    }
    assert_eq!(scene.cloud.truth().created, 2);
    assert_eq!(scene.status().await["state"], "running");
}

/// The offer says $1.20; the pod, then, that it costs more than there is.
#[tokio::test]
async fn an_absurd_price_counts_as_unknown_and_stops_nothing_also_after_a_restart() {
    for absurd in [1e308, 9_300_000_000.0, -1.0] {
        let scene = scene(hourly(12.0)).await;
        scene.cloud.set_price(absurd);
        scene.deploy(pod("10m"), json!({})).await;
        let request = scene.send("60s").await;
        assert_eq!(scene.answered(SECOND / 10, request).await.status, 200);
        scene.pass(secs(20)).await;
        let price = |status: Value| status["instances"][0]["usd_per_hour"].as_f64();
        assert_eq!(price(scene.status().await), Some(1.2), "what was offered");
        let scene = scene.crash(SECOND).await;
        scene.pass(secs(20)).await;
        assert_eq!(price(scene.status().await), Some(1.2));
        scene.admin(Method::DELETE, "/deployments/m").await;
        scene.until_live(0).await;
    }
}

#[tokio::test]
async fn offers_at_absurd_prices_are_told_without_a_price() {
    let scene = scene(hourly(12.0)).await;
    scene
        .cloud
        .set_offers(Tier::Pod, vec![offer(Some(1e308), Some(-0.5))]);
    let (status, offers) = scene
        .admin(Method::GET, "/providers/toy/offers?tier=pod")
        .await;
    assert_eq!(status, 200, "{offers}");
    let item = &offers["items"][0];
    let prices = [&item["usd_per_hour"], &item["usd_per_second"]];
    assert!(prices.iter().all(|price| price.is_null()), "{offers}");
}

#[tokio::test]
async fn a_refusal_is_no_reason_any_more_once_there_is_room() {
    let scene = scene(hourly(1.5)).await;
    let tiers = json!({ "pod": { "provider": "toy", "min_instances": 1 } });
    let other = json!({ "name": "n", "image": "i:1", "tiers": tiers });
    scene.system.admin.deploy(other).await;
    scene.until_live(1).await;
    scene.deploy(pod("10m"), json!({})).await;
    let refused = scene.get().await;
    assert_eq!((refused.status, code(&refused).as_str()), (503, "budget"));
    let status = scene.status().await;
    assert!(status["reason"].to_string().contains("budget"), "{status}");
    scene.admin(Method::DELETE, "/deployments/n").await;
    scene.until_live(0).await;
    scene.pass(secs(60)).await;
    let status = scene.status().await;
    assert!(!status["reason"].to_string().contains("budget"), "{status}");
}
