//! What prices do to a deployment in its first seconds, and after a restart.

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_policy::Tier;
use thermocline_provider::Offer;

use crate::scene::{SECOND, Scene, ok, secs};

/// A cloud that asks for so much.
async fn scene(usd_per_hour: f64, usd_per_second: f64) -> Scene {
    let scene = Scene::new(ok()).await;
    let offer = |hour, second| Offer {
        id: "o".to_owned(),
        gpu: "Fake 80".to_owned(),
        vram_mib: 80 << 10,
        usd_per_hour: hour,
        usd_per_second: second,
        region: String::new(),
        available: true,
    };
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
