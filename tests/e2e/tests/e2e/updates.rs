//! Changing what runs: nothing is lost, and never more is there than may be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use thermocline_support::backend::Latch;
use thermocline_support::provider::{Boot, FakeProvider};
use thermocline_support::system::{Admin, Setup, System};

use crate::events::listen_at;
use crate::scene::{SECOND, Scene, ok, pod, secs};

/// Sends one request after the other until told otherwise; how many, all 200.
async fn traffic(system: &System, over: &Arc<AtomicBool>) -> tokio::task::JoinHandle<usize> {
    let (mut client, over) = (system.client().await, over.clone());
    tokio::spawn(async move {
        let mut sent = 0;
        while !over.load(Ordering::Relaxed) {
            let response = client.request("GET", "/d/m/x").send().await.unwrap();
            assert_eq!(response.status, 200, "{}", response.text());
            sent += 1;
        }
        sent
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b37_updates_under_load_lose_nothing_and_keep_to_the_maximum() {
    let cloud = FakeProvider::new(&Clock::system(), |_| ok().into());
    let system = Setup::new().provider("toy", cloud.clone()).start().await;
    let tiers = json!({ "pod": { "provider": "toy", "max_instances": 1 } });
    system
        .admin
        .deploy(json!({ "name": "m", "image": "i:1", "tiers": tiers }))
        .await;
    let over = Arc::new(AtomicBool::new(false));
    let clients = [traffic(&system, &over).await, traffic(&system, &over).await];
    system.admin.wait_state("m", "running").await;
    let created = cloud.truth().created;
    system
        .admin
        .patch("m", json!({ "policy": { "promote_rps": 3 } }))
        .await;
    assert_eq!(
        cloud.truth().created,
        created,
        "a threshold replaces nothing"
    );
    system.admin.patch("m", json!({ "image": "i:2" })).await;
    cloud
        .wait_for(|truth| truth.created == 2 && truth.live.len() == 1)
        .await;
    system.admin.patch("m", json!({ "image": "i:3" })).await;
    let last = system.admin.patch("m", json!({ "image": "i:4" })).await;
    assert_eq!(last["spec"]["image"], "i:4");
    let settled = |status: &Value| {
        status["instances"].as_array().unwrap().len() == 1
            && status["instances"][0]["state"] == "ready"
    };
    system.admin.wait_status("m", settled).await;
    over.store(true, Ordering::Relaxed);
    for client in clients {
        assert!(client.await.unwrap() > 0);
    }
    assert!(
        cloud.truth().most_live <= 2,
        "one surge instance at the most"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b37_an_update_at_full_strength_replaces_one_after_the_other() {
    let cloud = FakeProvider::new(&Clock::system(), |_| ok().into());
    let system = Setup::new().provider("toy", cloud.clone()).start().await;
    let tiers = json!({ "pod": { "provider": "toy", "min_instances": 2, "max_instances": 2 } });
    let spec = json!({ "name": "m", "image": "i:1", "tiers": tiers });
    system.admin.deploy(spec).await;
    let two_ready = |status: &Value| {
        let instances = status["instances"].as_array().unwrap();
        instances.len() == 2 && instances.iter().all(|it| it["state"] == "ready")
    };
    system.admin.wait_status("m", two_ready).await;
    let over = Arc::new(AtomicBool::new(false));
    let client = traffic(&system, &over).await;
    system.admin.patch("m", json!({ "image": "i:2" })).await;
    cloud
        .wait_for(|truth| truth.created == 4 && truth.live.len() == 2)
        .await;
    system.admin.wait_status("m", two_ready).await;
    over.store(true, Ordering::Relaxed);
    assert!(client.await.unwrap() > 0);
    assert_eq!(cloud.truth().most_live, 3, "one surge instance at a time");
}

#[tokio::test]
async fn b37_an_update_during_a_start_starts_what_it_says() {
    let scene = Scene::new(ok()).await;
    let never = Latch::new();
    scene.cloud.set_boot(Boot::WhenOpen(never));
    scene.deploy(pod("60s"), json!({})).await;
    let request = scene.send("60s").await;
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    scene.cloud.set_boot(Boot::AtOnce);
    scene
        .system
        .admin
        .patch("m", json!({ "image": "i:2" }))
        .await;
    assert_eq!(scene.answered(SECOND / 4, request).await.status, 200);
    scene.until_live(1).await;
    assert!(scene.cloud.truth().most_live <= 2);
    assert_eq!(scene.cloud.truth().created, 2);
}

#[tokio::test]
async fn b37_at_zero_after_an_update_a_request_wakes_it() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("10s"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    scene.until_live(0).await;
    scene
        .system
        .admin
        .patch("m", json!({ "image": "i:2" }))
        .await;
    scene.pass(secs(5)).await;
    assert_eq!(scene.cloud.truth().created, 1, "an update wakes nothing");
    let request = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND / 4, request).await.status, 200);
}

/// The case's thirty seconds: `THERMOCLINE_TEST_B27_SECONDS=30`.
fn b27_span() -> Duration {
    let seconds = std::env::var("THERMOCLINE_TEST_B27_SECONDS").ok();
    secs(seconds.map_or(4, |seconds| seconds.parse().unwrap()))
}

/// When everybody stops.
#[derive(Clone)]
struct End {
    clock: Clock,
    at: Moment,
}

impl End {
    fn after(span: Duration) -> Self {
        let clock = Clock::system();
        let at = clock.now() + span;
        End { clock, at }
    }

    fn has_come(&self) -> bool {
        self.clock.now() >= self.at
    }
}

/// What one client did: its last acknowledged update, and how long each took.
type Written = (u32, Vec<Duration>);

/// Updates `m0` to `m9` until `end`, one after the other; now and then another
/// update of it is broken off in its midst.
async fn writes(admin: Admin, client: u32, end: End) -> Written {
    let name = format!("m{}", client % 10);
    let key = format!("CLIENT_{client}");
    let (mut last, mut took) = (0, Vec::new());
    while !end.has_come() {
        if last % 7 == 3 {
            let (admin, name) = (admin.clone(), name.clone());
            let broken_off = tokio::spawn(async move {
                admin
                    .patch(&name, json!({ "env": { "ABORTED": "x" } }))
                    .await
            });
            tokio::task::yield_now().await;
            broken_off.abort();
        }
        last += 1;
        let began = end.clock.now();
        admin
            .patch(&name, json!({ "env": { &key: last.to_string() } }))
            .await;
        took.push(end.clock.now().since(began));
    }
    (last, took)
}

/// Twenty-five small writes a second until `end`: eight of these make the case's 200.
async fn counts(admin: Admin, counter: u32, end: End) {
    let (mut next, mut asleep) = (end.clock.now(), false);
    while !end.has_come() {
        asleep = !asleep;
        let verb = if asleep { "sleep" } else { "wake" };
        let path = format!("/deployments/c{counter}/{verb}");
        let (status, body) = admin.call(Method::POST, &path, None).await;
        assert_eq!(status, 202, "{body}");
        next = next + Duration::from_millis(40);
        end.clock.sleep_until(next).await;
    }
}

/// Lists everything again and again until `end`.
async fn reads(admin: Admin, end: End) {
    while !end.has_come() {
        for path in ["/deployments", "/deployments/m0/decisions", "/instances"] {
            let (status, body) = admin.call(Method::GET, path, None).await;
            assert_eq!(status, 200, "{body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b27_concurrent_writers_lose_nothing() {
    let cloud = FakeProvider::new(&Clock::system(), |_| ok().into());
    let system = Setup::new().provider("toy", cloud).start().await;
    let names = (0..10)
        .map(|i| format!("m{i}"))
        .chain((0..8).map(|i| format!("c{i}")));
    for name in names {
        let spec = json!({ "name": name, "image": "i:1", "tiers": pod("60s") });
        system.admin.deploy(spec).await;
    }
    let mut listener = listen_at(&system, None).await;
    let end = End::after(b27_span());
    let writers =
        (0..50).map(|client| tokio::spawn(writes(system.admin.clone(), client, end.clone())));
    let writers: Vec<_> = writers.collect();
    let counters = (0..8).map(|c| tokio::spawn(counts(system.admin.clone(), c, end.clone())));
    let counters: Vec<_> = counters.collect();
    let listened =
        tokio::spawn(async move { while listener.read_chunk().await.unwrap().is_some() {} });
    reads(system.admin.clone(), end.clone()).await;
    let mut took = Vec::new();
    for (client, writer) in writers.into_iter().enumerate() {
        let (last, each) = writer.await.unwrap();
        let deployment = system.admin.deployment(&format!("m{}", client % 10)).await;
        let stored = &deployment["spec"]["env"][format!("CLIENT_{client}")];
        assert_eq!(*stored, last.to_string(), "client {client}");
        took.extend(each);
    }
    join_all(counters)
        .await
        .into_iter()
        .for_each(|counter| counter.unwrap());
    assert!(!listened.is_finished(), "the events go on");
    listened.abort();
    none_is_kept_waiting(took);
    let admin = &system.admin;
    let all = join_all((0..50).map(|_| admin.call(Method::GET, "/deployments/m0/decisions", None)));
    assert!(
        all.await.iter().all(|(status, _)| *status == 200),
        "the pool is whole"
    );
}

/// Who waits for the one writer waits in turn: the slowest are not slower than
/// the usual by more than the turns that a queue may differ by.
fn none_is_kept_waiting(mut took: Vec<Duration>) {
    took.sort();
    let (median, p99) = (took[took.len() / 2], took[took.len() * 99 / 100]);
    eprintln!("{} writes: median {median:?}, p99 {p99:?}", took.len());
    assert!(p99 < 10 * median, "median {median:?}, p99 {p99:?}");
}
