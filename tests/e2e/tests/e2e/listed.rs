//! What a provider's lists say is taken up: prices, instances that no create told of;
//! and what is told where they say nothing.

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_policy::NanoUsd;
use thermocline_provider::ProviderErrorKind;
use thermocline_server::BudgetConfig;
use thermocline_support::backend::{FakeBackend, Latch, Script};
use thermocline_support::provider::{Boot, Call, FakeProvider, Fault};
use thermocline_support::system::{Setup, manual_clock};

use crate::scene::{SECOND, Scene, ok, pod, secs};

/// With one pod at $1.20 an hour that is ready.
async fn with_a_pod(budget: BudgetConfig) -> Scene {
    let time = manual_clock();
    let cloud = FakeProvider::new(&time.clock(), |_| ok().into());
    let mut setup = Setup::new().on(&time).provider("toy", cloud.clone());
    setup.budget = budget;
    let system = setup.start().await;
    let scene = Scene {
        time,
        cloud,
        system,
    };
    let tiers = json!({ "pod": { "provider": "toy", "min_instances": 1 } });
    scene.deploy(tiers, json!({})).await;
    scene.until_state("running").await;
    scene
}

fn price(status: &Value) -> Option<f64> {
    status["instances"][0]["usd_per_hour"].as_f64()
}

async fn total(scene: &Scene) -> f64 {
    let (_, costs) = scene.admin(Method::GET, "/costs").await;
    costs["total_usd"].as_f64().unwrap()
}

async fn health(scene: &Scene) -> Value {
    let (_, providers) = scene.admin(Method::GET, "/providers").await;
    let mut all = providers["items"].as_array().unwrap().iter();
    all.find(|it| it["name"] == "toy").unwrap()["last_error"].clone()
}

#[tokio::test]
async fn the_price_of_a_ready_pod_is_what_lists_say_in_its_row_and_in_the_ledger() {
    let scene = with_a_pod(BudgetConfig::default()).await;
    scene.cloud.set_price(36.0);
    scene.pass(secs(10)).await;
    assert_eq!(price(&scene.status().await), Some(36.0));
    let before = total(&scene).await;
    scene.pass(secs(100)).await;
    let spent = total(&scene).await - before;
    assert!((0.95..=1.05).contains(&spent), "a cent a second: {spent}");
    let events = crate::events::told(&scene).await;
    assert_eq!(events.matches("instance.price").count(), 1, "{events}");
    let scene = scene.crash(SECOND).await;
    assert_eq!(price(&scene.status().await), Some(36.0));
    assert_eq!(scene.cloud.truth().created, 1, "nothing limits it");
}

#[tokio::test]
async fn a_ready_pod_that_becomes_too_dear_for_the_ceiling_is_deleted() {
    let ceiling = BudgetConfig {
        usd_per_hour: Some(NanoUsd::from_usd(5.0)),
        ..BudgetConfig::default()
    };
    let scene = with_a_pod(ceiling).await;
    scene.cloud.set_price(4.0);
    scene.pass(secs(10)).await;
    assert_eq!(price(&scene.status().await), Some(4.0), "it fits");
    scene.cloud.set_price(50.0);
    scene.pass(secs(20)).await;
    let truth = scene.cloud.truth();
    let once_more = 2; // since its offers say what they said
    assert_eq!((truth.live.len(), truth.created), (0, once_more));
    let status = scene.status().await;
    assert_eq!(status["budget"]["pod"]["brake"], "no_start", "{status}");
}

/// What is paid is what each list says; what is told are prices.
#[tokio::test]
async fn a_price_that_wavers_is_paid_as_it_is_read_and_told_once() {
    let scene = with_a_pod(BudgetConfig::default()).await;
    scene.cloud.set_price(3600.0);
    scene.pass(secs(15)).await;
    scene.cloud.set_price(3618.0);
    scene.pass(secs(10)).await;
    let before = total(&scene).await;
    scene.pass(secs(100)).await;
    let spent = total(&scene).await - before;
    assert!((100.2..=100.9).contains(&spent), "$1.005 a second: {spent}");
    assert_eq!(price(&scene.status().await), Some(3618.0));
    let events = crate::events::told(&scene).await;
    assert_eq!(events.matches("instance.price").count(), 1, "{events}");
}

/// Every create is answered with an error, and makes what it was asked for.
#[tokio::test]
async fn a_pod_whose_create_is_never_answered_is_taken_from_the_list() {
    let scene = Scene::new(ok()).await;
    let never = Latch::new();
    let lost = Fault::LostReply(ProviderErrorKind::Unavailable);
    scene.cloud.fail_until(Call::Create, &never, lost);
    scene.deploy(pod("10m"), json!({})).await;
    let request = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND / 10, request).await.status, 200);
    assert!(scene.elapsed() <= secs(10), "the next list shows it");
    assert_eq!(price(&scene.status().await), Some(1.2));
    let creates = scene.cloud.truth().count(Call::Create);
    scene.pass(secs(60)).await;
    let truth = scene.cloud.truth();
    assert_eq!((truth.created, truth.live.len()), (1, 1));
    assert_eq!(truth.count(Call::Create), creates, "it is there");
    assert!(total(&scene).await > 0.0);
}

#[tokio::test]
async fn a_cursor_that_comes_again_ends_the_list_with_an_error() {
    let scene = with_a_pod(BudgetConfig::default()).await;
    let never = Latch::new();
    scene.cloud.fail_until(Call::List, &never, Fault::Endless);
    let before = scene.cloud.truth().count(Call::List);
    scene.pass(secs(60)).await;
    let lists = scene.cloud.truth().count(Call::List) - before;
    assert!(lists <= 30, "{lists} calls in a minute");
    let told = health(&scene).await.to_string();
    assert!(told.contains("the same cursor twice"), "{told}");
    let warning = scene.status().await["warnings"].to_string();
    assert!(warning.contains("the same cursor twice"), "{warning}");
    never.open();
    scene.pass(secs(10)).await;
    assert_eq!(health(&scene).await, Value::Null);
    assert_eq!(scene.status().await["warnings"], json!([]));
}

#[tokio::test]
async fn a_deletion_says_that_it_waits_for_a_list_that_is_complete() {
    let scene = with_a_pod(BudgetConfig::default()).await;
    let never = Latch::new();
    scene
        .cloud
        .fail_until(Call::List, &never, Fault::Incomplete);
    scene.admin(Method::DELETE, "/deployments/m").await;
    scene.pass(secs(60)).await;
    let status = scene.status().await;
    assert_eq!(
        status["last_error"],
        "waits for provider toy: its list is not complete"
    );
    assert_eq!(health(&scene).await, "its list is not complete");
    never.open();
    scene
        .until(SECOND, async || scene.status().await.is_null())
        .await;
}

#[tokio::test]
async fn a_second_instance_at_an_address_says_whose_it_is_and_is_not_asked_for_hotly() {
    let scene = with_a_pod(BudgetConfig::default()).await;
    let first = scene.cloud.truth().live[0].clone();
    scene.cloud.set_boot(Boot::Never);
    let two = json!({ "tiers": { "pod": { "min_instances": 2, "max_instances": 2 } } });
    scene.system.admin.patch("m", two).await;
    scene.until_live(2).await;
    let url = first.address.unwrap().url;
    scene.cloud.readdress(&scene.cloud.truth().live[1].id, &url);
    scene.pass(secs(10)).await;
    let gets = scene.cloud.truth().count(Call::Get);
    scene.pass(secs(60)).await;
    let gets = scene.cloud.truth().count(Call::Get) - gets;
    assert!(gets <= 30, "{gets} gets in a minute");
    let status = scene.status().await;
    let detail = format!("its address is already that of {}", first.key);
    let all = status["instances"].as_array().unwrap();
    assert!(all.iter().any(|it| it["detail"] == detail), "{status}");
    let events = crate::events::told(&scene).await;
    assert_eq!(events.matches("instance.no_address").count(), 1, "{events}");
    scene.pass_in(secs(600), secs(5)).await;
    let events = crate::events::told(&scene).await;
    let late = format!("it was not ready in time: {detail}");
    assert!(events.contains(&late), "{events}");
}

/// Both are asked whether they are ready before either is, so neither sees the other.
#[tokio::test]
async fn of_two_that_become_ready_at_one_address_at_once_the_list_leaves_one() {
    let scene = Scene::new(ok()).await;
    let latch = Latch::new();
    let both = FakeBackend::start(Script::always(ok()).on("/ready", ok().held_until(&latch))).await;
    scene.cloud.set_boot(Boot::Never);
    let tiers = json!({ "pod": { "provider": "toy", "min_instances": 2, "max_instances": 2 } });
    let health = json!({ "ready": { "path": "/ready" } });
    scene.deploy(tiers, json!({ "health": health })).await;
    scene.until_live(2).await;
    let two = scene.cloud.truth().live;
    for one in &two {
        scene.cloud.readdress(&one.id, &both.url());
    }
    let asked = async || both.seen().to("/ready").count() == 2;
    scene.until(SECOND / 10, asked).await;
    latch.open();
    scene.pass(secs(20)).await;
    let status = scene.status().await;
    let all = status["instances"].as_array().unwrap();
    let ready = all.iter().filter(|it| it["state"] == "ready");
    assert_eq!(ready.count(), 1, "{status}");
    let live = scene.cloud.truth().live;
    let kept = two
        .iter()
        .filter(|one| live.iter().any(|it| it.id == one.id));
    assert_eq!(kept.count(), 1, "the other is not paid for");
    let events = crate::events::told(&scene).await;
    assert_eq!(events.matches("instance.no_address").count(), 1, "{events}");
    assert!(!events.contains("instance.lost"), "{events}");
}

#[tokio::test]
async fn the_servers_figures_count_live_pods_also_where_nothing_limits_them_together() {
    let scene = with_a_pod(BudgetConfig::default()).await;
    let daily = json!({ "budget": { "usd_per_day": 100 } });
    scene.system.admin.patch("m", daily).await;
    scene.pass(secs(10)).await;
    let server = scene.status().await["budget"]["server"].clone();
    assert_eq!(server["live_instances"], 1, "{server}");
    assert_eq!(server["committed_usd_per_hour"], 1.2, "{server}");
}
