//! `thermocline worker` as a process beside `thermocline serve`, with their
//! queues in a RabbitMQ.

use std::time::Duration;

use serde_json::{Value, json};
use thermocline_rabbitmq::Server as RabbitMq;
use thermocline_support::backend::{Latch, Reply, Script};
use thermocline_support::client::Response;
use thermocline_support::kserve::FakeKserve;
use thermocline_support::process::{Running, Server, Setup};

use crate::docker_tier::{IMAGE, daemon};

const INFER: &str = "/v2/models/resnet/infer";

/// A gateway, and what its workers are started with.
struct Scene {
    server: Server,
    rabbit: RabbitMq,
}

impl Scene {
    /// `None` where RabbitMQ is not installed.
    async fn new(spec: Value) -> Option<Scene> {
        let rabbit = RabbitMq::start().await?;
        let setup = Setup::new()
            .config(
                "[fleet]\nlisten = \"127.0.0.1:0\"\n[fleet.workers.all]\ntoken_env = \"TOKEN\"\n",
            )
            .env("TOKEN", "a-token-of-workers")
            .env("THERMOCLINE_WORKER_TOKEN", "a-token-of-workers")
            .env("THERMOCLINE_BROKER__URL", &rabbit.url());
        let server = setup.start().await;
        server.admin.deploy(spec).await;
        Some(Scene { server, rabbit })
    }

    /// Starts a worker that takes jobs.
    async fn worker(&self, name: &str, runtime: &str, more: &[&str]) -> Running {
        let size = ["--memory", "8GiB", "--permits", "2"];
        let args = [&size[..], more].concat();
        self.server.setup().worker(name, runtime, &args).await
    }

    async fn infer(&self) -> Response {
        let mut client = self
            .server
            .client()
            .await
            .with_patience(Duration::from_secs(60));
        let request = client.request("POST", "/d/m/infer").body("{}");
        request.send().await.unwrap()
    }
}

fn spec() -> Value {
    json!({
        "name": "m", "image": "resnet", "resources": { "vram": "1GiB" },
        "tiers": { "serverless": { "provider": "fleet" } },
        "limits": { "deadline": "60s" },
    })
}

/// A model server whose first request waits for `held`.
async fn node(held: &Latch) -> FakeKserve {
    let first = Reply::ok("first").held_until(held);
    FakeKserve::start(&["resnet"], Script::always(first)).await
}

fn opened() -> Latch {
    let latch = Latch::new();
    latch.open();
    latch
}

#[tokio::test]
async fn a_model_of_a_kserve_server_is_loaded_for_a_request_and_unloaded_at_the_end() {
    let Some(scene) = Scene::new(spec()).await else {
        return;
    };
    let node = node(&opened()).await;
    let mut worker = scene.worker("gpu-1", &node.url(), &[]).await;
    assert!(node.loaded().is_empty());
    let answer = scene.infer().await;
    assert_eq!((answer.status, &*answer.text()), (200, "first"));
    assert_eq!(node.loaded(), ["resnet"]);
    worker.terminate();
    assert!(worker.ended().await.success());
    assert!(node.loaded().is_empty());
}

#[tokio::test]
async fn b33_a_request_of_a_worker_that_is_killed_is_answered_by_another() {
    let Some(scene) = Scene::new(spec()).await else {
        return;
    };
    let (held, free) = (Latch::new(), opened());
    let (first, second) = (node(&held).await, node(&free).await);
    let mut killed = scene.worker("gpu-1", &first.url(), &[]).await;
    let asked = async {
        first.wait_for(|seen| seen.count(INFER) == 1).await;
        killed.kill().await;
        scene.worker("gpu-2", &second.url(), &[]).await
    };
    let (answer, _alive) = tokio::join!(scene.infer(), asked);
    assert_eq!(answer.status, 200, "{}", answer.text());
    second.wait_for(|seen| seen.count(INFER) == 1).await;
    drop(scene.rabbit);
}

#[tokio::test]
async fn b32_a_worker_that_is_told_to_end_brings_its_result_and_exits_0() {
    let Some(scene) = Scene::new(spec()).await else {
        return;
    };
    let held = Latch::new();
    let node = node(&held).await;
    let mut worker = scene.worker("gpu-1", &node.url(), &[]).await;
    let told = async {
        node.wait_for(|seen| seen.count(INFER) == 1).await;
        worker.terminate();
        worker.err.wait_for("draining").await;
        held.open();
    };
    let (answer, ()) = tokio::join!(scene.infer(), told);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(worker.ended().await.success());
}

#[tokio::test]
async fn a_container_is_started_for_a_job_and_gone_with_its_worker() {
    let Some(endpoint) = daemon() else { return };
    let health = json!({ "ready": { "path": "/ready", "interval": "50ms" } });
    let tiers = json!({ "serverless": { "provider": "fleet" } });
    let resources = json!({ "vram": "64MiB" });
    let spec = json!({
        "name": "m", "image": IMAGE, "tiers": tiers, "health": health, "resources": resources,
    });
    let Some(scene) = Scene::new(spec).await else {
        return;
    };
    let mut worker = scene
        .worker("gpu-1", "docker", &["--docker", &endpoint])
        .await;
    let mut client = scene.server.client().await;
    let answer = client.request("GET", "/d/m/who").send().await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!answer.text().is_empty());
    worker.terminate();
    assert!(worker.ended().await.success());
}
