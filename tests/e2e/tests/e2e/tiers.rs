//! Which tier serves, when it changes, and that nothing is lost while it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_clock::Clock;
use thermocline_policy::Tier;
use thermocline_support::backend::{Gate, Latch, Reply};
use thermocline_support::provider::{Boot, FakeProvider};
use thermocline_support::system::Setup;

use crate::scene::{SECOND, Scene, both_tiers, ok, secs, two_and_one};

impl Scene {
    /// `per_second` requests a second, evenly, for `span`.
    async fn drive(&self, per_second: f64, span: Duration) {
        let every = Duration::from_secs_f64(1.0 / per_second);
        let mut client = self.system.client().await;
        for i in 0..(span.as_secs_f64() * per_second) as u32 {
            let response = client.request("GET", "/d/m/x").send().await.unwrap();
            assert_eq!(response.status, 200, "request {i}: {}", response.text());
            self.time.advance(every);
            if i % 10 == 0 {
                self.settle().await;
            }
        }
    }
}

async fn scene_with(more: Value) -> Scene {
    let scene = Scene::new(ok()).await;
    scene.deploy(both_tiers(), more).await;
    scene
}

#[tokio::test]
async fn b01_a_rate_between_the_thresholds_stays_on_serverless() {
    let scene = scene_with(two_and_one()).await;
    scene.drive(1.5, secs(20 * 60)).await;
    assert_eq!(scene.transitions().await, [""; 0]);
    assert_eq!(scene.status().await["tier"], "serverless");
}

#[tokio::test]
async fn b01_a_rate_between_the_thresholds_stays_on_a_pod() {
    let scene = scene_with(two_and_one()).await;
    scene.system.admin.force("m", "pod").await;
    scene.drive(1.5, secs(300)).await;
    scene.admin(Method::DELETE, "/deployments/m/forced").await;
    scene.drive(1.5, secs(20 * 60)).await;
    assert_eq!(scene.transitions().await, [""; 0]);
    assert_eq!(scene.status().await["tier"], "pod");
}

#[tokio::test]
async fn b01_a_rate_above_promotes_once_and_is_not_changed_by_it() {
    let scene = scene_with(two_and_one()).await;
    let (mut client, mut before) = (scene.system.client().await, 0.0);
    for _ in 0..3000 {
        let response = client.request("GET", "/d/m/x").send().await.unwrap();
        assert_eq!(response.status, 200);
        if scene.transitions().await.is_empty() {
            before = scene.status().await["rps"].as_f64().unwrap();
        } else if before > 0.0 {
            let after = scene.status().await["rps"].as_f64().unwrap();
            assert!((after / before - 1.0).abs() < 0.01, "{before} {after}");
            before = 0.0;
            break;
        }
        scene.time.advance(Duration::from_millis(400));
    }
    assert_eq!(before, 0.0, "it was never promoted");
    scene.drive(2.5, secs(16 * 60)).await;
    assert_eq!(scene.transitions().await, ["serverless→pod"]);
}

#[tokio::test]
async fn b02_one_old_burst_does_not_vote_twice() {
    let policy = json!({ "promote_rps": 2, "demote_rps": 1, "hold": "30s" });
    let scene = scene_with(json!({ "policy": policy })).await;
    let mut promoted = None;
    let mut client = scene.system.client().await;
    for _ in 0..900 {
        let response = client.request("GET", "/d/m/x").send().await.unwrap();
        assert_eq!(response.status, 200);
        if promoted.is_none() && response.header("x-thermocline-reason") != Some("below_promote") {
            promoted = Some(scene.elapsed().as_secs_f64());
        }
        scene.time.advance(Duration::from_millis(60_000 / 900));
    }
    let promoted = promoted.expect("a promotion");
    assert!((39.0..41.0).contains(&promoted), "{promoted}");
    let mut demoted = None;
    for _ in 0..(15 * 60) {
        scene.step(SECOND).await;
        if demoted.is_none() && scene.status().await["tier"] == "serverless" {
            demoted = Some(scene.elapsed().as_secs_f64());
        }
    }
    let demoted = demoted.expect("a demotion");
    assert!((340.0..350.0).contains(&demoted), "{demoted}");
    assert_eq!(
        scene.transitions().await,
        ["serverless→pod", "pod→serverless"]
    );
}

#[tokio::test]
async fn a_pod_that_stops_idle_is_no_transition() {
    let scene = Scene::new(ok()).await;
    let tiers = json!({
        "serverless": { "provider": "toy" },
        "pod": { "provider": "toy", "max_instances": 1, "idle_timeout": "10s" },
    });
    let policy = json!({ "window": "60s", "promote_rps": 1, "demote_rps": 0.1 });
    scene.deploy(tiers, json!({ "policy": policy })).await;
    scene.drive(2.0, secs(40)).await;
    assert_eq!(scene.status().await["tier"], "pod");
    scene.pass(secs(45)).await;
    // The window holds too little for a pod, and too much for a demotion.
    let status = scene.status().await;
    assert_eq!(status["tier"], "serverless", "{status}");
    let rps = status["rps"].as_f64().unwrap();
    assert!((0.1..1.0).contains(&rps), "{status}");
    assert_eq!(scene.get().await.status, 200);
    assert_eq!(scene.transitions().await, ["serverless→pod"]);
    let metrics = scene.system.admin.metrics().await;
    let moves = "thermocline_tier_transitions_total";
    let moves: Vec<&str> = metrics
        .lines()
        .filter(|line| line.starts_with(moves))
        .collect();
    assert!(
        matches!(moves[..], [only] if only.contains("to=\"pod\"")),
        "{moves:?}"
    );
}

/// The demotion is due from t=0 on; every look takes 1.5 s.
#[tokio::test]
async fn b42_a_hold_runs_by_the_clock_not_by_looks() {
    let policy = json!({ "window": "1s", "promote_rps": 2, "demote_rps": 1, "hold": "60s" });
    let scene = scene_with(json!({ "policy": policy })).await;
    scene.get().await;
    scene.get().await;
    scene
        .until(SECOND / 10, async || !scene.transitions().await.is_empty())
        .await;
    let promoted = scene.time.now();
    let demoted = async || scene.status().await["tier"] == "serverless";
    scene.until(Duration::from_millis(1500), demoted).await;
    let held = scene.time.now().since(promoted);
    assert!((secs(58)..=secs(63)).contains(&held), "{held:?}");
}

#[tokio::test]
async fn b43_a_jumping_wall_clock_moves_nothing() {
    let scene = scene_with(two_and_one()).await;
    scene.drive(1.5, secs(300)).await;
    let hour = secs(3600);
    scene.time.set_wall(scene.time.wall() - hour);
    scene.drive(1.5, secs(60)).await;
    scene.time.set_wall(scene.time.wall() + 2 * hour);
    scene.drive(1.5, secs(60)).await;
    for i in 0..20 {
        let wall = scene.time.wall();
        scene.time.set_wall(if i % 2 == 0 {
            wall + SECOND
        } else {
            wall - SECOND
        });
        scene.drive(1.5, secs(2)).await;
    }
    let rps = scene.status().await["rps"].as_f64().unwrap();
    assert!((rps / 1.5 - 1.0).abs() < 0.01, "{rps}");
    assert_eq!(scene.transitions().await, [""; 0]);
    no_sample_is_negative(&scene).await;
}

/// What runs backwards only on the wall clock took no negative time.
async fn no_sample_is_negative(scene: &Scene) {
    let metrics = scene.system.admin.metrics().await;
    let samples = metrics.lines().filter(|line| !line.starts_with('#'));
    let mut durations = 0;
    for line in samples {
        let value: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(value >= 0.0, "{line}");
        durations += usize::from(line.contains("_duration_seconds_sum"));
    }
    assert!(durations >= 3, "{metrics}");
}

/// Times are for people; the order is that of the sequence.
#[tokio::test]
async fn b43_what_is_written_down_keeps_its_order_when_the_wall_clock_goes_back() {
    let scene = scene_with(two_and_one()).await;
    for (turn, tier) in ["pod", "serverless", "pod", "serverless"]
        .iter()
        .enumerate()
    {
        assert_eq!(scene.system.admin.force("m", tier).await.0, 200);
        scene.get().await;
        scene.step(SECOND).await;
        let wall = scene.time.wall();
        let hour = secs(3600);
        scene.time.set_wall(match turn % 2 {
            0 => wall - hour,
            _ => wall + hour,
        });
    }
    let (_, page) = scene.admin(Method::GET, "/deployments/m/decisions").await;
    let items = page["items"].as_array().unwrap();
    assert!(items.len() >= 3, "{page}");
    let ids: Vec<i64> = items.iter().map(|d| d["id"].as_i64().unwrap()).collect();
    assert!(ids.is_sorted_by(|a, b| a > b), "newest first: {ids:?}");
    let mut times = items.iter().map(|d| d["at"].as_str().unwrap());
    assert!(times.all(|at| chrono::DateTime::parse_from_rfc3339(at).is_ok()));
}

#[tokio::test]
async fn b43_a_deadline_runs_on_the_monotonic_clock() {
    let never = Latch::new();
    let scene = Scene::new(ok().held_until(&never)).await;
    scene
        .deploy(
            both_tiers(),
            json!({ "health": { "ready": { "status": [200] } } }),
        )
        .await;
    let request = scene.send("30s").await;
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    scene.time.set_wall(scene.time.wall() + secs(3600));
    scene.pass(secs(15)).await;
    scene.time.set_wall(scene.time.wall() - secs(7200));
    scene.pass(secs(14)).await;
    assert!(!request.is_finished());
    let response = scene.answered(SECOND, request).await;
    assert_eq!(response.status, 504, "{}", response.text());
    assert!((29.0..=32.0).contains(&scene.elapsed().as_secs_f64()));
}

#[tokio::test]
async fn serverless_serves_while_the_promoted_pod_boots() {
    let scene =
        scene_with(json!({ "policy": { "window": "10s", "promote_rps": 1, "demote_rps": 0.5 } }))
            .await;
    scene.cloud.set_boot_of(Tier::Pod, Boot::After(secs(30)));
    scene.drive(2.0, secs(6)).await;
    let response = scene.get().await;
    assert_eq!(response.header("x-thermocline-tier"), Some("serverless"));
    assert_eq!(response.header("x-thermocline-start"), Some("fallback"));
    assert_eq!(response.header("x-thermocline-reason"), Some("pod_booting"));
    let two_a_second = async || {
        assert_eq!(scene.get().await.status, 200);
        let response = scene.get().await;
        assert_eq!(response.status, 200);
        response.header("x-thermocline-tier") == Some("pod")
    };
    scene.until(SECOND, two_a_second).await;
    assert!(scene.elapsed() >= secs(30), "{:?}", scene.elapsed());
    let response = scene.get().await;
    assert_eq!(response.header("x-thermocline-start"), Some("warm"));
}

#[tokio::test]
async fn a_demoted_pod_is_stopped_after_its_last_byte() {
    let gate = Gate::new();
    let scene = Scene::new(ok()).await;
    let gated = gate.clone();
    let cloud = FakeProvider::new(&scene.time.clock(), move |_| {
        let long = Reply::new(200).gated(&gated);
        thermocline_support::backend::Script::from_fn(|_| ok()).on("/x", long)
    });
    let setup = Setup::new().on(&scene.time).provider("toy", cloud.clone());
    let scene = Scene {
        system: setup.start().await,
        time: scene.time.clone(),
        cloud,
    };
    scene
        .deploy(both_tiers(), json!({ "limits": { "idle": "1h" } }))
        .await;
    scene.system.admin.force("m", "pod").await;
    let request = scene.send("1h").await;
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    gate.write("first");
    scene
        .until(SECOND / 10, async || scene.status().await["in_flight"] == 1)
        .await;
    scene.system.admin.force("m", "serverless").await;
    scene.pass(secs(60)).await;
    assert_eq!(scene.first_delete(), None);
    gate.write(", last");
    gate.finish();
    let response = scene.answered(SECOND, request).await;
    assert_eq!(response.text(), "first, last");
    scene.until_live(1).await;
    assert_eq!(scene.cloud.truth().live[0].id, "fake-2");
}

/// Eight clients send all the time while the tier changes fifty times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_tier_changes_under_load_lose_nothing() {
    let cloud = FakeProvider::new(&Clock::system(), |_| ok().into());
    let system = Setup::new().provider("toy", cloud.clone()).start().await;
    let spec = json!({ "name": "m", "image": "i:1", "tiers": both_tiers() });
    system.admin.deploy(spec).await;
    let over = Arc::new(AtomicBool::new(false));
    let mut clients = Vec::new();
    for _ in 0..8 {
        let (mut client, over) = (system.client().await, over.clone());
        clients.push(tokio::spawn(async move {
            let mut sent = 0;
            while !over.load(Ordering::Relaxed) {
                let response = client.request("GET", "/d/m/x").send().await.unwrap();
                assert_eq!(response.status, 200, "{}", response.text());
                sent += 1;
            }
            sent
        }));
    }
    for change in 0..50 {
        let tier = ["pod", "serverless"][change % 2];
        let (status, problem) = system.admin.force("m", tier).await;
        assert_eq!(status, 200, "{problem}");
        let mut client = system.client().await;
        let response = client.request("GET", "/d/m/x").send().await.unwrap();
        assert_eq!(
            response.header("x-thermocline-tier"),
            Some(tier),
            "{}",
            response.text()
        );
    }
    over.store(true, Ordering::Relaxed);
    for client in clients {
        assert!(client.await.unwrap() > 0);
    }
    assert!(cloud.truth().created >= 3, "pods came and went");
}

#[tokio::test]
async fn forcing_ends_when_its_time_is_over() {
    let scene = scene_with(json!({})).await;
    // The scene's wall clock begins at 2027-01-15T08:00:00Z.
    let forced = json!({ "tier": "pod", "until": "2027-01-15T08:10:00Z" });
    let path = "/deployments/m/forced";
    scene
        .system
        .admin
        .call(Method::PUT, path, Some(&forced))
        .await;
    assert_eq!(
        scene.get().await.header("x-thermocline-reason"),
        Some("forced")
    );
    scene.pass_in(secs(601), secs(10)).await;
    let response = scene.get().await;
    assert_ne!(response.header("x-thermocline-reason"), Some("forced"));
}

#[tokio::test]
async fn forcing_a_tier_that_it_lacks_is_a_conflict() {
    let scene = scene_with(json!({})).await;
    let (status, problem) = scene.system.admin.force("m", "local").await;
    assert_eq!(
        (status.as_u16(), &problem["code"]),
        (409, &json!("conflict"))
    );
    assert_eq!(scene.system.admin.force("m", "moon").await.0, 400);
}
