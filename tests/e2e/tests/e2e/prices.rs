//! What prices do to a deployment in its first seconds, and after a restart; what
//! was paid idle, and what would have been paid by other rules.

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_policy::Tier;
use thermocline_support::backend::{Latch, Script};
use thermocline_support::provider::{Boot, offer};

use crate::scene::{SECOND, Scene, ok, pod, secs};

/// A cloud that asks for so much.
async fn scene(usd_per_hour: f64, usd_per_second: f64) -> Scene {
    let scene = Scene::new(ok()).await;
    let pod = offer(Some(usd_per_hour), None);
    let serverless = offer(None, Some(usd_per_second));
    scene.cloud.set_offers(Tier::Pod, vec![pod]);
    scene.cloud.set_offers(Tier::Serverless, vec![serverless]);
    scene
}

fn tiers() -> Value {
    json!({
        "serverless": { "provider": "toy", "idle_timeout": "2s" },
        "pod": { "provider": "toy", "max_instances": 1 },
    })
}

async fn serve(scene: &Scene) {
    let sent = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND / 10, sent).await.status, 200);
}

async fn what_if(scene: &Scene) -> Value {
    let (_, costs) = scene.admin(Method::GET, "/costs").await;
    costs["what_if"][0].clone()
}

fn usd(entry: &Value, what: &str) -> f64 {
    entry[what].as_f64().unwrap()
}

/// Fixed rates would promote it at once; a pod is at no rate worth its price.
#[tokio::test]
async fn no_pod_is_promoted_before_the_first_prices_are_known() {
    for mode in ["break_even", "regret"] {
        let scene = scene(100.0, 0.000_1).await;
        let policy =
            json!({ "mode": mode, "window": "20s", "promote_rps": 0.2, "demote_rps": 0.1 });
        scene.deploy(tiers(), json!({ "policy": policy })).await;
        serve(&scene).await;
        for _ in 0..10 {
            assert_eq!(scene.get().await.status, 200);
        }
        scene.pass(secs(5)).await;
        let scene = scene.crash(SECOND).await;
        for _ in 0..10 {
            serve(&scene).await;
        }
        scene.pass(secs(5)).await;
        let moved = scene.transitions().await;
        assert!(moved.iter().all(|t| !t.contains("pod")), "{moved:?}");
    }
}

/// Idle time as specified and the measured cold start, from the first one on.
#[tokio::test]
async fn the_first_worker_is_charged_what_is_known_of_it_and_so_it_is_after_a_restart() {
    let scene = scene(100.0, 0.01).await;
    scene.deploy(tiers(), json!({})).await;
    serve(&scene).await;
    scene.pass(secs(70)).await;
    let first = usd(&what_if(&scene).await, "paid_usd");
    // At most 3 s of service, which nobody has measured yet, and 2 s of idling.
    assert!((0.02..=0.06).contains(&first), "{first}");
    let scene = scene.crash(SECOND).await;
    serve(&scene).await;
    scene.pass(secs(70)).await;
    let second = usd(&what_if(&scene).await, "paid_usd") - first;
    assert!((0.02..=first).contains(&second), "{second}");
}

/// Nobody had a pod, so none is there that serves for nothing.
#[tokio::test]
async fn the_optimum_pays_for_what_comes_after_a_restart() {
    let scene = scene(100.0, 0.01).await;
    scene.deploy(tiers(), json!({})).await;
    serve(&scene).await;
    scene.pass(secs(70)).await;
    let before = what_if(&scene).await;
    assert_eq!(usd(&before, "optimum_usd"), usd(&before, "serverless_usd"));
    let scene = scene.crash(SECOND).await;
    serve(&scene).await;
    scene.pass(secs(70)).await;
    let after = what_if(&scene).await;
    assert!(usd(&after, "serverless_usd") > usd(&before, "serverless_usd"));
    assert_eq!(usd(&after, "optimum_usd"), usd(&after, "serverless_usd"));
    assert_eq!(usd(&after, "optimum_usd"), usd(&after, "paid_usd"));
}

/// `POST …/simulate` with a change of the specification; the status and the answer.
async fn simulate(scene: &Scene, query: &str, patch: Value) -> (u16, Value) {
    let path = format!("/deployments/m/simulate{query}");
    let admin = &scene.system.admin;
    let (status, body) = admin.call(Method::POST, &path, Some(&patch)).await;
    (status.as_u16(), body)
}

#[tokio::test]
async fn other_thresholds_are_replayed_with_what_came_and_put_nothing_in_force() {
    let scene = scene(3.6, 0.01).await;
    let policy = json!({ "window": "60s", "promote_rps": 100, "demote_rps": 50 });
    scene.deploy(tiers(), json!({ "policy": policy })).await;
    serve(&scene).await;
    for _ in 0..30 {
        assert_eq!(scene.get().await.status, 200);
        scene.pass_in(secs(5), secs(5)).await;
    }
    scene.pass(secs(10)).await;
    let lower = json!({ "policy": { "promote_rps": 0.1, "demote_rps": 0.05 } });
    let (status, told) = simulate(&scene, "?span=1h", lower).await;
    assert_eq!(status, 200, "{told}");
    assert_eq!(told["arrivals"], 31);
    let (asked, in_force) = (&told["asked"], &told["in_force"]);
    assert_eq!(asked["policy"], "thresholds:promote=0.1,demote=0.05");
    assert!(usd(asked, "pod_hours") > 0.0 && asked["transitions"] == 1);
    assert!(usd(in_force, "pod_hours") == 0.0 && in_force["transitions"] == 0);
    assert_eq!(in_force["cost_usd"], told["serverless"]["cost_usd"]);
    for course in ["asked", "in_force", "serverless", "pod"] {
        assert!(usd(&told[course], "cost_usd") >= usd(&told, "optimum_usd"));
    }
    let (_, same) = simulate(&scene, "", json!({})).await;
    assert_eq!(same["asked"], same["in_force"]);
    let there = scene.system.admin.deployment("m").await;
    assert_eq!(there["spec"]["policy"]["promote_rps"], 100.0);
}

#[tokio::test]
async fn what_cannot_be_replayed_is_refused_with_the_reason() {
    let scene = scene(3.6, 0.01).await;
    scene
        .deploy(json!({ "pod": { "provider": "toy" } }), json!({}))
        .await;
    let (status, problem) = simulate(&scene, "", json!({})).await;
    assert_eq!((status, &problem["code"]), (409, &json!("one_tier")));
    let wrong = json!({ "policy": { "promote_rps": 0 } });
    let (status, problem) = simulate(&scene, "", wrong).await;
    assert_eq!((status, &problem["code"]), (400, &json!("invalid")));
    assert!(
        problem["errors"][0]["field"]
            .as_str()
            .unwrap()
            .starts_with("policy")
    );
    let (status, problem) = simulate(&scene, "?span=73h", json!({})).await;
    assert_eq!((status, &problem["code"]), (400, &json!("bad_query")));
}

/// A pod boots for 2 s, works for 10 s and waits for the rest of a minute.
#[tokio::test]
async fn what_was_paid_without_a_request_in_hand_is_told_apart_hour_by_hour() {
    let latch = Latch::new();
    let held = ok().held_until(&latch);
    let scene = Scene::new(Script::always(ok()).on("/x", held)).await;
    scene.cloud.set_boot(Boot::After(secs(2)));
    scene
        .cloud
        .set_offers(Tier::Pod, vec![offer(Some(3.6), None)]);
    scene.deploy(pod("10m"), json!({})).await;
    let sent = scene.send("60s").await;
    scene.until_state("running").await;
    scene.pass(secs(10)).await;
    latch.open();
    assert_eq!(sent.await.unwrap().status, 200);
    scene.pass(secs(48)).await;
    let (status, twice) = scene.admin(Method::GET, "/costs?by=tier,hour,tier").await;
    assert_eq!(
        (status, &twice["detail"]),
        (400, &json!("by: names tier twice"))
    );
    let path = "/costs?by=hour,tier";
    let (_, costs) = scene.admin(Method::GET, path).await;
    let item = &costs["items"][0];
    assert!(
        item["hour"].as_str().unwrap().ends_with(":00:00.000Z"),
        "{item}"
    );
    assert_eq!(
        (&item["tier"], &item["deployment"]),
        (&json!("pod"), &Value::Null)
    );
    let (paid, idle) = (usd(item, "usd"), usd(item, "idle_usd"));
    assert_eq!(costs["idle_usd"], item["idle_usd"]);
    // 0.001 dollars a second.
    assert!((0.057..=0.064).contains(&paid), "{paid}");
    assert!((0.008..=0.013).contains(&(paid - idle)), "{paid} {idle}");
}
