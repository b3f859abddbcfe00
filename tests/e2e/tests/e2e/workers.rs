//! A worker and its gateway over real HTTP: claims, payloads, results.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use thermocline_broker::{Limits, MemoryBroker};
use thermocline_clock::{Clock, ManualClock};
use thermocline_fleet::{Fleet, Settings};
use thermocline_policy::Tier;
use thermocline_provider::InstanceRequest;
use thermocline_support::backend::{FakeBackend, Gate, Latch, Reply, Script};
use thermocline_support::client::RawClient;
use thermocline_support::provider::FakeProvider;
use thermocline_support::system::{Setup, System};
use thermocline_wire::fleet::{Model, Terms};
use thermocline_worker::{ConfiguredMemory, HttpGateways, InstanceRuntime, Parts, Runtime, Worker};

use crate::scene::breathe;

/// A gateway, its queues in memory, and a node whose instances are backends on
/// loopback.
struct Scene {
    system: System,
    fleet: Arc<Fleet>,
    broker: Arc<MemoryBroker>,
    node: FakeProvider,
}

impl Scene {
    /// With the deployment `m`, whose instances answer as `script` says.
    async fn new(script: impl Into<Script>) -> Scene {
        let script = script.into();
        let broker = Arc::new(MemoryBroker::new(Clock::system(), &Limits::default()));
        let settings = Settings {
            listen: ([127, 0, 0, 1], 0).into(),
            ..Settings::default()
        };
        let fleet = Fleet::connect(settings, broker.clone(), Clock::system());
        let fleet = Arc::new(fleet.await.unwrap());
        let mut setup = Setup::new();
        setup.providers = vec![("fleet".to_owned(), fleet.clone())];
        let system = setup.start().await;
        system.admin.deploy(spec()).await;
        Scene {
            system,
            fleet,
            broker,
            node: FakeProvider::new(&Clock::system(), move |_| script.clone()),
        }
    }

    fn worker(&self, name: &str) -> Worker {
        let clock = Clock::system();
        let token = self.fleet.own_worker().token;
        let node = Arc::new(self.node.clone());
        Worker::start(Parts {
            settings: thermocline_worker::Settings::new(name, 2),
            broker: self.broker.clone(),
            gateways: Arc::new(HttpGateways::new(&token, &[], clock.clone())),
            runtime: Arc::new(InstanceRuntime::new(node, name, Tier::Pod, clock.clone())),
            memory: Arc::new(ConfiguredMemory::new(vec![8_192])),
            clock,
        })
    }

    async fn client(&self) -> RawClient {
        self.system.client().await
    }

    /// The one backend of `m`, once `path` was asked of it.
    async fn asked(&self, path: &str) -> FakeBackend {
        self.node.wait_for(|truth| !truth.live.is_empty()).await;
        let backend = loop {
            if let Some(backend) = self.node.backends().pop() {
                break backend;
            }
            tokio::task::yield_now().await;
        };
        backend.wait_for(|seen| seen.count(path) > 0).await;
        backend
    }
}

fn spec() -> Value {
    json!({
        "name": "m", "image": "image", "port": 8000,
        "resources": { "vram": "1GiB" },
        "tiers": { "serverless": { "provider": "fleet" } },
        "limits": { "deadline": "60s" },
    })
}

#[tokio::test]
async fn a_request_reaches_the_model_as_it_is_and_so_does_its_answer() {
    let body: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let scene = Scene::new(Script::always(Reply::ok("ready")).on("/echo", Reply::echo())).await;
    let _worker = scene.worker("gpu-1");
    let mut client = scene.client().await;
    let request = client
        .request("PUT", "/d/m/echo?n=1&x=%20")
        .body(body.clone());
    let answer = request.header("x-mine", "1").send().await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.body == body, "{} bytes", answer.body.len());
    let timing = answer.header("server-timing").unwrap();
    assert!(
        timing.contains("queue") && timing.contains("load"),
        "{timing}"
    );
    let backend = scene.asked("/echo").await;
    let seen = backend.seen();
    let asked = seen.to("/echo").next().unwrap();
    assert_eq!((asked.method(), asked.header("x-mine")), ("PUT", Some("1")));

    let again = client.request("PUT", "/d/m/echo").body("again").send();
    assert_eq!(again.await.unwrap().text(), "again");
    assert_eq!(scene.node.truth().created, 1, "the model is warm");
}

#[tokio::test]
async fn a_head_alone_says_the_length_of_what_does_not_come() {
    let scene = Scene::new(Script::always(Reply::ok("a body"))).await;
    let _worker = scene.worker("gpu-1");
    let mut client = scene.client().await;
    let head = client.request("HEAD", "/d/m/x").send().await.unwrap();
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("6"))
    );
    assert!(head.body.is_empty());
    let whole = client.request("GET", "/d/m/x").send().await.unwrap();
    assert_eq!(whole.text(), "a body");
}

#[tokio::test]
async fn a_result_comes_as_it_is_made() {
    let gate = Gate::new();
    let reply = Reply::new(200).gated(&gate).chunked();
    let scene = Scene::new(Script::always(Reply::ok("ready")).on("/stream", reply)).await;
    let _worker = scene.worker("gpu-1");
    let mut client = scene.client().await;
    let request = client.request("POST", "/d/m/stream").body("x");
    request.start().await.unwrap();
    gate.write("data: 1\n\n");
    assert_eq!(client.read_head().await.unwrap().status, 200);
    let first = client.read_chunk().await.unwrap().unwrap();
    assert_eq!(&first.bytes[..], b"data: 1\n\n");
    gate.write("data: 2\n\n");
    let second = client.read_chunk().await.unwrap().unwrap();
    assert_eq!(&second.bytes[..], b"data: 2\n\n");
    gate.finish();
    assert!(client.read_chunk().await.unwrap().is_none());
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_run_at_the_model() {
    let held = Latch::new();
    let reply = Reply::ok("late").held_until(&held);
    let scene = Scene::new(Script::always(Reply::ok("ready")).on("/run", reply)).await;
    let _worker = scene.worker("gpu-1");
    let mut client = scene.client().await;
    client.request("POST", "/d/m/run").start().await.unwrap();
    let backend = scene.asked("/run").await;
    drop(client);
    let left =
        |seen: &thermocline_support::backend::Seen| seen.to("/run").all(|run| run.peer_left());
    backend.wait_for(left).await;
}

#[tokio::test]
async fn b32_a_worker_that_drains_brings_its_result_and_leaves_the_rest_to_the_next() {
    let held = Latch::new();
    let reply = Reply::ok("whole").held_until(&held);
    let scene = Scene::new(Script::always(Reply::ok("ready")).on("/run", reply)).await;
    let mut first = scene.worker("gpu-1");
    let (mut one, mut other) = (scene.client().await, scene.client().await);
    one.request("POST", "/d/m/run").start().await.unwrap();
    scene.asked("/run").await;
    first.drain();
    other.request("POST", "/d/m/late").start().await.unwrap();
    held.open();
    assert_eq!(one.read_head().await.unwrap().status, 200);
    first.ended().await;
    assert!(scene.node.truth().live.is_empty(), "it unloads everything");
    let _second = scene.worker("gpu-2");
    assert_eq!(other.read_head().await.unwrap().status, 200);
}

#[tokio::test]
async fn b33_a_job_of_a_worker_that_dies_is_run_by_the_next() {
    let held = Latch::new();
    let reply = Reply::ok("whole").held_until(&held);
    let scene = Scene::new(Script::always(Reply::ok("ready")).on("/run", reply)).await;
    let first = scene.worker("gpu-1");
    let mut client = scene.client().await;
    client.request("POST", "/d/m/run").start().await.unwrap();
    scene.asked("/run").await;
    drop(first);
    held.open();
    let _second = scene.worker("gpu-2");
    assert_eq!(client.read_head().await.unwrap().status, 200);
}

#[tokio::test]
async fn a_worker_that_begins_again_goes_on_with_the_model_that_it_left() {
    let scene = Scene::new(Reply::ok("whole")).await;
    let killed = scene.worker("gpu-1");
    let mut client = scene.client().await;
    let first = client.request("POST", "/d/m/run").send().await.unwrap();
    assert_eq!((first.status, &*first.text()), (200, "whole"));
    drop(killed);
    let _again = scene.worker("gpu-1");
    let second = client.request("POST", "/d/m/run").send().await.unwrap();
    assert_eq!((second.status, &*second.text()), (200, "whole"));
    let truth = scene.node.truth();
    assert_eq!((truth.created, truth.deleted), (1, 0));
}

#[tokio::test]
async fn what_a_worker_left_of_an_older_generation_is_not_gone_on_with() {
    let scene = Scene::new(Reply::ok("whole")).await;
    let killed = scene.worker("gpu-1");
    let mut client = scene.client().await;
    let first = client.request("POST", "/d/m/run").send().await.unwrap();
    assert_eq!(first.status, 200);
    drop(killed);
    scene
        .system
        .admin
        .patch("m", json!({ "image": "image:2" }))
        .await;
    let _again = scene.worker("gpu-1");
    let second = client.request("POST", "/d/m/run").send().await.unwrap();
    assert_eq!(second.status, 200, "{}", second.text());
    let truth = scene.node.truth();
    assert_eq!((truth.created, truth.deleted), (2, 1));
}

/// A copy that was left and hangs holds its place no longer than any look at it may take.
#[tokio::test]
async fn what_a_worker_left_and_says_nothing_is_loaded_anew_in_seconds() {
    let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let (hangs, never) = (Latch::new(), Latch::new());
    let script = {
        let hangs = hangs.clone();
        move |_: &InstanceRequest| match hangs.is_open() {
            true => Script::always(Reply::ok("ready")),
            false => {
                let silent = Reply::ok("").held_until(&never);
                Script::until(&hangs, Reply::ok("ready"), silent)
            }
        }
    };
    let node = FakeProvider::new(&time.clock(), script);
    let life = || InstanceRuntime::new(Arc::new(node.clone()), "gpu-1", Tier::Pod, time.clock());
    life().load(&model(), &[]).await.unwrap();
    hangs.open();
    let again = life();
    assert!(again.find_left().await.unwrap() && again.adopt("m", "1", &[]));
    let loading = tokio::spawn(async move { again.load(&model(), &[]).await });
    let began = time.now();
    while !loading.is_finished() {
        time.advance(Duration::from_millis(100));
        breathe(10).await;
    }
    loading.await.unwrap().unwrap();
    let took = time.now().since(began);
    assert!(took < Duration::from_secs(60), "{took:?}");
    let truth = node.truth();
    assert_eq!((truth.created, truth.deleted), (2, 1));
}

/// It may take ten minutes to load.
fn model() -> Model {
    Model {
        deployment: "m".into(),
        generation: "1".into(),
        image: "image".into(),
        command: Vec::new(),
        args: Vec::new(),
        env: Default::default(),
        port: 80,
        ready_path: "/".into(),
        ready_status: Vec::new(),
        start_timeout_ms: 600_000,
        gpus: 0,
        terms: Terms::default(),
    }
}
