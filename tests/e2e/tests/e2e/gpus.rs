//! Which GPU of this machine a local instance gets, and what is told when it gets none.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use thermocline_clock::Clock;
use thermocline_support::backend::Script;
use thermocline_support::gpus::FakeGpus;
use thermocline_support::provider::FakeProvider;
use thermocline_support::system::manual_clock;

use crate::local::{deploy, machine_of, served_by};
use crate::scene::{SECOND, Scene, ok, secs};

/// Which GPUs each deployment's container was given.
type Given = Arc<Mutex<Vec<(String, Vec<String>)>>>;

fn daemon(clock: &Clock) -> (FakeProvider, Given) {
    let given = Given::default();
    let noted = given.clone();
    let docker = FakeProvider::new(clock, move |request| {
        let name = request.deployment.clone();
        noted.lock().unwrap().push((name, request.devices.clone()));
        Script::from(ok())
    });
    (docker, given)
}

async fn machine(gpus: &FakeGpus) -> (Scene, Given) {
    let time = manual_clock();
    let (docker, given) = daemon(&time.clock());
    (machine_of(time, &docker, gpus.clone()).await, given)
}

/// A deployment that no other tier can serve.
async fn deploy_local(scene: &Scene, name: &str, vram: &str) {
    let spec = json!({
        "name": name, "image": "i:1", "resources": { "vram": vram }, "tiers": { "local": {} },
    });
    scene.system.admin.deploy(spec).await;
}

/// What is promised of each GPU, MiB.
async fn reserved(scene: &Scene) -> Vec<Value> {
    let (_, providers) = scene.admin(reqwest::Method::GET, "/providers").await;
    let items = providers["items"].as_array().unwrap();
    let docker = items.iter().find(|p| p["name"] == "docker").unwrap();
    let gpus = docker["gpus"].as_array().unwrap();
    gpus.iter().map(|gpu| gpu["reserved_mib"].clone()).collect()
}

#[tokio::test]
async fn b17_a_gpu_that_is_too_small_is_not_taken() {
    let (scene, given) = machine(&FakeGpus::new(&[80, 0, 96])).await;
    deploy(&scene, "first", "86.5GiB").await;
    deploy(&scene, "second", "86.5GiB").await;
    assert_eq!(served_by(&scene, "first").await, "local");
    let here = ("first".to_owned(), vec!["GPU-2".to_owned()]);
    assert_eq!(*given.lock().unwrap(), [here]);
    scene.step(SECOND).await;
    assert_eq!(served_by(&scene, "second").await, "serverless");
    assert_eq!(reserved(&scene).await, [0, 0, 88_576]);
}

#[tokio::test]
async fn who_gets_no_room_is_told_what_is_needed_and_what_there_is() {
    let (scene, _) = machine(&FakeGpus::new(&[80])).await;
    deploy_local(&scene, "large", "86.5GiB").await;
    let mut client = scene.system.client().await;
    let refused = client.request("GET", "/d/large/x").send().await.unwrap();
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("no_capacity"), "{}", refused.text());
    let status = scene.system.admin.status("large").await;
    let why = "no_capacity: 86.5 GiB needed, 80 GiB free on the best GPU";
    assert_eq!(status["reason"], why);
}

#[tokio::test]
async fn what_others_take_of_a_gpu_is_not_promised() {
    let gpus = FakeGpus::new(&[24]);
    let (scene, _) = machine(&gpus).await;
    deploy(&scene, "a", "11GiB").await;
    gpus.take(0, 14);
    scene.pass(secs(4)).await;
    assert_eq!(served_by(&scene, "a").await, "serverless");
    gpus.take(0, 13);
    scene
        .until(SECOND, async || served_by(&scene, "a").await == "local")
        .await;
}

#[tokio::test]
async fn a_restart_finds_each_instance_on_its_gpu() {
    let gpus = FakeGpus::new(&[24, 24]);
    let (scene, given) = machine(&gpus).await;
    deploy(&scene, "a", "20GiB").await;
    deploy(&scene, "b", "10GiB").await;
    assert_eq!(served_by(&scene, "a").await, "local");
    assert_eq!(served_by(&scene, "b").await, "local");
    gpus.take(0, 20);
    gpus.take(1, 10);
    let before = reserved(&scene).await;
    assert_eq!(before, [20 << 10, 10 << 10]);
    let scene = scene.crash(secs(1)).await;
    assert_eq!(reserved(&scene).await, before);
    deploy(&scene, "c", "14GiB").await;
    scene.step(SECOND).await;
    assert_eq!(
        served_by(&scene, "c").await,
        "local",
        "what is there counts once"
    );
    assert_eq!(given.lock().unwrap().len(), 3);
}
